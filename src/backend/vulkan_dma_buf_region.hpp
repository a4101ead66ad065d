#pragma once
#include <backend/vulkan_buffer_region.hpp>
#include <backend/vulkan_select.hpp>

#include <cstdint>
#include <optional>

namespace rdmagpu::backend::vulkan {

/// The type of memory for dma-bufs, of those possible: what a PCI peer can reach, which is the GPU's own that
/// the CPU can map, too; else the GPU's own; else any. Empty: none is possible.
std::optional<std::uint32_t> chooseDmaBufType(const VkPhysicalDeviceMemoryProperties&,
                                              std::uint32_t possible) noexcept;

/// All slots: one buffer, and one allocation that is exported as a dma-buf.
class DmaBufRegion final : public BufferRegion {
public:
  static Result<RegionPtr> allocate(const SlotDevice&, const RegionRequest&);
  ~DmaBufRegion() override;
  DmaBufRegion(DmaBufRegion&&) = delete;

  void* address(std::size_t) const noexcept override { return nullptr; }
  void* opaque() const noexcept override { return m_buffer.get(); }
  Handoff handoff(std::size_t) const noexcept override { return DmaBufOnly{}; }
  std::optional<VulkanBuffer> vulkanBuffer(std::size_t offset) const noexcept override {
    return VulkanBuffer{m_on.device->handle(), m_buffer.get(), m_memory.get(), offset, 0, m_type};
  }
  Result<ExportedFd> exportDmaBuf(std::size_t offset, std::size_t bytes) const override;
  void describe(BufferFacts&) const override;

private:
  DmaBufRegion(const SlotDevice& on, const RegionRequest& request) noexcept
      : BufferRegion(on.copier), m_on(on), m_bytes(request.bytes), m_scrub(request.config.scrubOnDestroy) {}
  Result<void> acquire() noexcept;
  /// Makes the memory a buffer of the copier's device, too.
  Result<void> importForCopies() noexcept;
  Result<os::Fd> openFd() const noexcept;

  SlotDevice m_on;
  std::uint64_t m_bytes;
  std::uint64_t m_committed{};
  std::uint32_t m_type{};
  bool m_dedicated{};
  OwnedMemory m_memory; ///< Freed after the buffer.
  OwnedBuffer m_buffer;
  OwnedMemory m_importedMemory; ///< Never exported.
  OwnedBuffer m_importedBuffer;
  bool m_built{};
  bool m_scrub;
};

} // namespace rdmagpu::backend::vulkan
