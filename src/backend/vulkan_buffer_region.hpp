#pragma once
#include <backend/backend.hpp>
#include <backend/vulkan_copier.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace rdmagpu::backend::vulkan {

/// A region behind a VkBuffer: what moves its bytes. Without a copier, nothing does.
class BufferRegion : public Region {
public:
  Result<void> upload(std::size_t offset, std::span<const std::byte> from) const override;
  Result<void> download(std::size_t offset, std::span<std::byte> to) const override;
  Result<std::uint64_t> checksum(std::size_t offset, std::size_t bytes) const override;
  Result<void> poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const override;
  Result<void> clear(std::size_t offset, std::size_t bytes) const override;

protected:
  explicit BufferRegion(std::shared_ptr<const Copier> copier) noexcept : m_copier(std::move(copier)) {}
  /// The buffer, on the copier's device, through which the bytes are reached.
  void copyBuffer(VkBuffer buffer) noexcept { m_copied = buffer; }

private:
  std::shared_ptr<const Copier> m_copier;
  VkBuffer m_copied{};
};

} // namespace rdmagpu::backend::vulkan
