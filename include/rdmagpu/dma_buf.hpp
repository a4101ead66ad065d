#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rdmagpu {

namespace core {
struct DmaBufAccess;
}

/// An exported dma-buf file descriptor (close-on-exec), closed on destruction.
///
/// Move-only; empty after a move. Holds the exported memory and the device it came from, so it may
/// outlive the buffer. A kernel importer holds its own reference: the descriptor may be closed as
/// soon as a peer has registered it.
class RDMAGPU_API DmaBuf {
public:
  DmaBuf() noexcept = default;
  ~DmaBuf();
  DmaBuf(DmaBuf&&) noexcept;
  DmaBuf& operator=(DmaBuf&&) noexcept;

  int fd() const noexcept { return m_fd; } ///< -1 when empty; 0 is a valid fd.
  std::uint64_t offset() const noexcept {
    return m_offset;
  }                                                    ///< Bytes into the fd where the exported range starts.
  std::size_t size() const noexcept { return m_size; } ///< Bytes exported, from offset().

  /// Whether it is mapped through PCIe (PcieMapping) and not in the driver's default way.
  bool pcieMapped() const noexcept { return m_pcieMapped; }
  /// Why it is not, where that was tried; kind None when it is, or was not to be.
  const Error& pcieError() const noexcept { return m_pcieError; }

  /// Hands over the descriptor and drops the keep-alive. The caller closes it,
  /// and must keep the buffer alive for as long as a device uses the memory.
  [[nodiscard]] int release() noexcept;

private:
  friend struct core::DmaBufAccess;
  std::shared_ptr<const void> m_memory;
  void (*m_close)(int) noexcept = nullptr; ///< How its driver wants it closed.
  int m_fd = -1;
  std::uint64_t m_offset{};
  std::size_t m_size{};
  bool m_pcieMapped{};
  Error m_pcieError{};
};

} // namespace rdmagpu
