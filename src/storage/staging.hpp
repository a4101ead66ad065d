#pragma once
#include <backend/backend.hpp>
#include <os/file_io.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace rdmagpu::storage {

/// Moves bytes between files and slots through two pieces of pinned host memory: one is copied while the
/// other is read or written. One transfer at a time; others wait.
class Staging {
public:
  /// For slots of that size in a region of that GPU, which outlives it.
  static Result<std::unique_ptr<Staging>> make(const backend::Region&, std::size_t slotBytes,
                                               const std::optional<PciAddress>& gpu);

  /// How many bytes arrived: fewer where the file has ended. An error says how many did before it.
  Result<std::size_t> read(const os::FileIo&, std::uint64_t fileOffset, std::size_t regionOffset,
                           std::size_t bytes);
  Result<std::size_t> write(const os::FileIo&, std::uint64_t fileOffset, std::size_t regionOffset,
                            std::size_t bytes);

  Staging(RdmaGpuBuffer host, std::unique_ptr<backend::Copies> copies) noexcept;
  Staging(Staging&&) = delete;

private:
  std::span<std::byte> piece(std::size_t i) const noexcept;

  /// Whether all copies are over; the pieces may be used again then.
  Result<void> finish() const noexcept;

  std::mutex m_mutex;
  RdmaGpuBuffer m_host; // before the copies, which use it
  std::unique_ptr<backend::Copies> m_copies;
};

} // namespace rdmagpu::storage
