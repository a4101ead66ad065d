#pragma once
#include <backend/vulkan_buffer_region.hpp>
#include <backend/vulkan_select.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace rdmagpu::backend::vulkan {

/// The memory of a GPU that peers reach.
struct RdmaHeap {
  std::uint64_t bytes{};
  std::optional<std::uint64_t> freeBytes{};
};

/// The heap of the type of memory that slots are taken from, as it is now.
RdmaHeap rdmaHeap(const LogicalDevice&) noexcept;

/// One slot: a buffer, and an allocation of its own with a remote address.
class RdmaRegion final : public BufferRegion {
public:
  /// `before`: the heap before the first slot of the buffer was allocated.
  static Result<RegionPtr> allocate(const SlotDevice&, const RdmaHeap& before, const RegionRequest&);
  ~RdmaRegion() override;
  RdmaRegion(RdmaRegion&&) = delete;

  void* address(std::size_t offset) const noexcept override {
    return static_cast<std::byte*>(m_address) + offset; // a number to this process, never dereferenced
  }
  void* opaque() const noexcept override { return m_buffer.get(); }
  Handoff handoff(std::size_t offset) const noexcept override { return VulkanRemoteAddress{address(offset)}; }

  std::optional<VulkanBuffer> vulkanBuffer(std::size_t offset) const noexcept override {
    return VulkanBuffer{m_on.device->handle(), m_buffer.get(), m_memory.get(), offset, 0, m_type};
  }
  void describe(BufferFacts&) const override;

private:
  RdmaRegion(const SlotDevice& on, const RdmaHeap& before, const RegionRequest& request) noexcept
      : BufferRegion(on.copier),
        m_on(on),
        m_before(before),
        m_bytes(request.bytes),
        m_scrub(request.config.scrubOnDestroy) {}
  Result<void> acquire() noexcept;
  Result<void> readAddress() noexcept;

  SlotDevice m_on;
  RdmaHeap m_before;
  std::uint64_t m_bytes;
  std::uint64_t m_committed{};
  OwnedMemory m_memory; ///< Freed after the buffer.
  OwnedBuffer m_buffer;
  std::uint32_t m_type{};
  void* m_address{};
  bool m_scrub;
};

} // namespace rdmagpu::backend::vulkan
