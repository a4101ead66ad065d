#pragma once
#include <backend/backend.hpp>

namespace rdmagpu::backend {

/// Copies by the region's own upload() and download(): each is done when its call returns.
class CpuCopies final : public Copies {
public:
  explicit CpuCopies(const Region& region) noexcept : m_region(region) {}

  Result<void> upload(std::uint32_t, std::uint32_t, std::size_t offset,
                      std::span<const std::byte> from) override {
    return m_region.upload(offset, from);
  }
  Result<void> download(std::uint32_t, std::uint32_t, std::size_t offset, std::span<std::byte> to) override {
    return m_region.download(offset, to);
  }
  Result<bool> isDone(std::uint32_t) const noexcept override { return true; }
  Result<void> wait(std::uint32_t) const noexcept override { return {}; }

private:
  const Region& m_region;
};

} // namespace rdmagpu::backend
