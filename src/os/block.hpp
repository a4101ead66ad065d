#pragma once
#include <os/fd.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/pci_address.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::os {

/// A block device, or a regular file in its place, whose bytes are read and written past the page cache
/// (O_DIRECT): a device's own DMA engine moves them from and to the memory that is named. Offsets and sizes
/// are multiples of blockBytes(), addresses of the page size.
class BlockFile {
public:
  enum class Access : unsigned char { Read, Overwrite };

  /// To be overwritten a device must be nobody else's: not mounted, nor in use as part of another (O_EXCL).
  /// `root` replaces "/" where the device's place in the system is looked up.
  static Result<BlockFile> open(const std::string& path, Access, const std::string& root = "");

  bool isDevice() const noexcept { return m_isDevice; }
  std::uint64_t bytes() const noexcept { return m_bytes; }
  std::size_t blockBytes() const noexcept { return m_blockBytes; }
  /// Of the PCI device that moves its bytes. Empty for files, and for devices made of others or of memory.
  const std::optional<PciAddress>& pci() const noexcept { return m_pci; }

  Result<void> read(std::uint64_t offset, void* to, std::size_t bytes) const;
  Result<void> write(std::uint64_t offset, const void* from, std::size_t bytes) const;

private:
  Result<void> measure();

  Fd m_fd;
  bool m_isDevice{};
  std::uint64_t m_bytes{};
  std::size_t m_blockBytes{};
  std::optional<PciAddress> m_pci;
};

/// Whether it is what the system answers to memory that the device does not reach.
bool isAnswerToMemory(const Error&) noexcept;

/// The PCI device behind a block device of those numbers, as the kernel tells it.
std::optional<PciAddress> pciOfBlock(unsigned major, unsigned minor, const std::string& root = "");

} // namespace rdmagpu::os
