#pragma once
#include <backend/vulkan_driver.hpp>
#include <backend/vulkan_slot_kind.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rdmagpu::backend::vulkan {

/// What slots may be used for by the GPU: copies, and shaders that read and write them.
inline constexpr VkBufferUsageFlags slotUsage =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

/// A physical device, as its driver describes it.
struct Gpu {
  VkPhysicalDevice handle{};
  std::int32_t ordinal{};
  std::string name;
  std::uint32_t apiVersion{};
  std::optional<PciAddress> pci{};
  std::array<std::byte, 16> uuid{};
  std::uint32_t maxAllocations{};
  bool rdmaExtension{};
  bool rdmaFeature{};
  bool exportsAddresses{}; ///< Of buffers with slotUsage.
  bool memoryFdExtension{};
  bool dmaBufExtension{};
  VkExternalMemoryFeatureFlags dmaBufs{}; ///< What can be done with those of buffers with slotUsage.
  bool tellsBudget{};                     ///< VK_EXT_memory_budget.
  VkPhysicalDeviceMemoryProperties memory{};
};

/// The types of memory whose RDMA_CAPABLE bit is set, as a mask.
std::uint32_t rdmaTypes(const VkPhysicalDeviceMemoryProperties&) noexcept;

/// Held while an instance or a device is made, asked for its functions, or destroyed: Khronos' loader (seen
/// with 1.3.239) goes through its list of instances without a lock of its own where a device's functions are
/// looked up.
std::mutex& loaderMutex() noexcept;

/// A VkInstance.
class Instance {
public:
  /// One of the library's own, without layers or extensions.
  static Result<std::shared_ptr<const Instance>> create();
  /// The caller's, for Vulkan 1.1 or later, which outlives this.
  static Result<std::shared_ptr<const Instance>> borrow(VkInstance);
  ~Instance();
  Instance(Instance&&) = delete;

  VkInstance handle() const noexcept { return m_handle; }
  const api::InstanceFunctions& functions() const noexcept { return *m_functions; }

  /// Every physical device, in the loader's order.
  Result<std::vector<Gpu>> list() const;

private:
  explicit Instance(bool borrowed) noexcept : m_borrowed(borrowed) {}
  /// Looks the functions up. loaderMutex() is held.
  Result<void> load(const api::LoaderFunctions&) noexcept;
  Result<Gpu> describe(VkPhysicalDevice, std::int32_t ordinal) const;

  VkInstance m_handle{};
  bool m_borrowed;
  std::optional<api::InstanceFunctions> m_functions;
};

/// The GPU that the config names; else, of those whose memory peers reach, the one that shares most of the
/// peer's way, or the first. `root` replaces "/".
Result<Gpu> chooseGpu(SlotKind, const std::vector<Gpu>&, const RdmaGpuBufferConfig&,
                      const std::string& root = "");

/// The GPU that each answer of the selector names, which must be one; nothing named: the first.
Result<Gpu> namedGpu(const std::vector<Gpu>&, const GpuSelector&);

/// What can be done with memory of such a handle type behind buffers of that usage.
VkExternalMemoryFeatureFlags externalFeatures(const api::InstanceFunctions&, VkPhysicalDevice,
                                              VkBufferUsageFlags,
                                              VkExternalMemoryHandleTypeFlagBits) noexcept;

/// How much of the heap is free to this process; empty where the driver does not tell.
std::optional<std::uint64_t> freeHeapBytes(const Instance&, const Gpu&, std::uint32_t heap) noexcept;

} // namespace rdmagpu::backend::vulkan
