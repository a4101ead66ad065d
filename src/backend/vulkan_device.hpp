#pragma once
#include <backend/vulkan_instance.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace rdmagpu::backend::vulkan {

/// A VkDevice.
class LogicalDevice {
public:
  /// One of the library's own, with one queue that copies, and with what slots need enabled.
  static Result<std::shared_ptr<const LogicalDevice>> create(std::shared_ptr<const Instance>, const Gpu&);
  /// The caller's, which outlives this, with the queue of it that the options name.
  static Result<std::shared_ptr<const LogicalDevice>> borrow(std::shared_ptr<const Instance>, const Gpu&,
                                                             VkDevice, const VulkanOptions&);
  ~LogicalDevice();
  LogicalDevice(LogicalDevice&&) = delete;

  VkDevice handle() const noexcept { return m_handle; }
  const api::DeviceFunctions& functions() const noexcept { return *m_functions; }
  const Instance& instance() const noexcept { return *m_instance; }
  const Gpu& gpu() const noexcept { return m_gpu; }
  std::uint32_t queueFamily() const noexcept { return m_queueFamily; }
  VkQueue queue() const noexcept { return m_queue; } ///< Null: the caller has named none.

private:
  LogicalDevice(std::shared_ptr<const Instance> instance, const Gpu& gpu, bool borrowed)
      : m_instance(std::move(instance)), m_gpu(gpu), m_borrowed(borrowed) {}
  Result<void> open() noexcept;
  /// Looks the functions up. loaderMutex() is held.
  Result<void> load() noexcept;

  std::shared_ptr<const Instance> m_instance;
  Gpu m_gpu;
  bool m_borrowed;
  VkDevice m_handle{};
  std::optional<api::DeviceFunctions> m_functions;
  std::uint32_t m_queueFamily{};
  VkQueue m_queue{};
};

using LogicalDevicePtr = std::shared_ptr<const LogicalDevice>;

/// An object of a device, which outlives it. `Destroy` is the member of DeviceFunctions that destroys it; a
/// forked child destroys nothing.
template <class Handle, auto Destroy>
class [[nodiscard]] Owned {
public:
  Owned() noexcept = default;
  Owned(const LogicalDevice& device, Handle handle) noexcept : m_device(&device), m_handle(handle) {}
  ~Owned() {
    if(m_handle != Handle{} && !inForkedChild())
      (m_device->functions().*Destroy)(m_device->handle(), m_handle, nullptr);
  }
  Owned(Owned&& other) noexcept
      : m_device(other.m_device), m_handle(std::exchange(other.m_handle, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(m_device, other.m_device);
    std::swap(m_handle, other.m_handle);
    return *this;
  }
  Handle get() const noexcept { return m_handle; }

private:
  const LogicalDevice* m_device{};
  Handle m_handle{};
};

using OwnedBuffer = Owned<VkBuffer, &api::DeviceFunctions::destroyBuffer>;
using OwnedMemory = Owned<VkDeviceMemory, &api::DeviceFunctions::freeMemory>;
using OwnedPool = Owned<VkCommandPool, &api::DeviceFunctions::destroyCommandPool>;
using OwnedFence = Owned<VkFence, &api::DeviceFunctions::destroyFence>;

/// `next`: the chain of its create-info, or null.
Result<OwnedBuffer> createBuffer(const LogicalDevice&, std::uint64_t bytes, VkBufferUsageFlags,
                                 const void* next) noexcept;
VkMemoryRequirements requirementsOf(const LogicalDevice&, VkBuffer) noexcept;
/// Allocates memory of that type for the buffer, and binds it. `next`: the chain of its allocate-info.
Result<OwnedMemory> allocateFor(const LogicalDevice&, VkBuffer, const VkMemoryRequirements&,
                                std::uint32_t type, const void* next) noexcept;

} // namespace rdmagpu::backend::vulkan
