#pragma once
#include <backend/vulkan_device.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

namespace rdmagpu::backend::vulkan {

/// Moves bytes between the CPU and buffers that it cannot map, through memory that both reach. One copy at a
/// time; may be called from several threads at once.
class Copier {
public:
  static Result<std::shared_ptr<const Copier>> create(LogicalDevicePtr);
  Copier(Copier&&) = delete;
  ~Copier() = default;

  const LogicalDevice& device() const noexcept { return *m_device; }

  Result<void> upload(VkBuffer to, std::uint64_t offset, std::span<const std::byte> from) const;
  Result<void> download(VkBuffer from, std::uint64_t offset, std::span<std::byte> to) const;
  /// `offset` and `bytes` are multiples of 4.
  Result<void> clear(VkBuffer, std::uint64_t offset, std::uint64_t bytes) const;

  /// Shows `see` all those bytes, from the first to the last, in pieces that are multiples of 8 bytes but for
  /// the last.
  Result<void> read(VkBuffer, std::uint64_t offset, std::uint64_t bytes,
                    const std::function<void(std::span<const std::byte>)>& see) const;
  /// The other direction: `make` fills each piece.
  Result<void> write(VkBuffer, std::uint64_t offset, std::uint64_t bytes,
                     const std::function<void(std::span<std::byte>)>& make) const;

private:
  explicit Copier(LogicalDevicePtr device) noexcept : m_device(std::move(device)) {}
  Result<void> prepare() noexcept;
  Result<void> begin() const noexcept;
  /// Submits what was recorded since begin(), and waits until it is done.
  Result<void> finish() const noexcept;
  void settle() const noexcept;

  LogicalDevicePtr m_device;
  OwnedMemory m_memory; ///< Freed after the buffer.
  OwnedBuffer m_buffer;
  std::byte* m_mapped{};
  OwnedPool m_pool; ///< With it goes the command buffer.
  VkCommandBuffer m_commands{};
  OwnedFence m_fence;
  mutable std::mutex m_mutex;
};

} // namespace rdmagpu::backend::vulkan
