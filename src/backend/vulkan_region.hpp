#pragma once
#include <backend/backend.hpp>
#include <backend/vulkan_copier.hpp>

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
class RdmaRegion final : public Region {
public:
  /// `before`: the heap before the first slot of the buffer was allocated.
  static Result<RegionPtr> allocate(const std::shared_ptr<const Copier>&, const RdmaHeap& before,
                                    const RegionRequest&);
  ~RdmaRegion() override;
  RdmaRegion(RdmaRegion&&) = delete;

  void* address(std::size_t offset) const noexcept override {
    return static_cast<std::byte*>(m_address) + offset; // a number to this process, never dereferenced
  }
  void* opaque() const noexcept override { return m_buffer.get(); }
  Handoff handoff(std::size_t offset) const noexcept override { return VulkanRemoteAddress{address(offset)}; }

  Result<void> upload(std::size_t offset, std::span<const std::byte> from) const override;
  Result<void> download(std::size_t offset, std::span<std::byte> to) const override;
  Result<std::uint64_t> checksum(std::size_t offset, std::size_t bytes) const override;
  Result<void> poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const override;
  Result<void> clear(std::size_t offset, std::size_t bytes) const override;
  void describe(BufferFacts&) const override;

private:
  RdmaRegion(std::shared_ptr<const Copier> copier, const RdmaHeap& before,
             const RegionRequest& request) noexcept
      : m_copier(std::move(copier)),
        m_before(before),
        m_bytes(request.bytes),
        m_scrub(request.config.scrubOnDestroy) {}
  Result<void> acquire() noexcept;
  Result<void> readAddress() noexcept;

  std::shared_ptr<const Copier> m_copier;
  RdmaHeap m_before;
  std::uint64_t m_bytes;
  std::uint64_t m_committed{};
  OwnedMemory m_memory; ///< Freed after the buffer.
  OwnedBuffer m_buffer;
  void* m_address{};
  bool m_scrub;
};

} // namespace rdmagpu::backend::vulkan
