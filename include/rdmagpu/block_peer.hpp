#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/storage_peer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rdmagpu {

class RdmaGpuBuffer;

struct BlockPeerOptions {
  /// Lets bytes be written to the device, whose own are lost: see BlockPeer::overwritten(). Refused where the
  /// device is mounted, or in use as part of another.
  bool overwrite{false};
};

/// A block device as the peer of verify(): its own DMA engine writes the slots and reads them, by direct I/O
/// (O_DIRECT) on their addresses. A regular file can stand in; it proves no device, as its file system may
/// copy.
///
/// Of slots in a device's memory the kernel decides whether this device reaches them: by both drivers, and by
/// the bridges between. What it refuses is Unsupported, with what is known of the reason. Holds the slots'
/// memory. Move-only; one transfer at a time.
class RDMAGPU_API BlockPeer final : public StoragePeer {
public:
  static Result<BlockPeer> open(const RdmaGpuBuffer&, const std::string& path, const BlockPeerOptions& = {});
  ~BlockPeer() override;
  BlockPeer(BlockPeer&&) noexcept;
  BlockPeer& operator=(BlockPeer&&) noexcept;

  const char* name() const noexcept override; ///< "block:/dev/nvme0n1"
  /// Device, or Software where no PCI device is known to be behind it: a file, a loop device, one made of
  /// others.
  Agent agent() const noexcept override;
  std::optional<PciAddress> pci() const noexcept; ///< Of the device that moves the bytes.
  std::uint64_t size() const noexcept;            ///< Bytes of the device.
  /// How many of the device's bytes, from its start, are lost when `bytes` of a slot are moved; 0 without
  /// `overwrite`.
  std::uint64_t overwritten(std::size_t bytes) const noexcept override;

  /// Puts the bytes on the device, and has it write them into the slot. Without `overwrite` Unsupported. They
  /// are a multiple of the device's blocks, of 512 or 4096 bytes; of 4096 in a file.
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override;
  /// Has the device read the slot, and takes the bytes from it. What `bytes` holds before is put there first,
  /// so that a read which moves nothing is seen. Without `overwrite` Unsupported.
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override;

  Result<void> fetch(std::uint32_t slot, std::span<std::byte> bytes) override;
  Result<void> fill(std::uint32_t slot, std::size_t bytes) override;

private:
  struct Impl;
  explicit BlockPeer(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
