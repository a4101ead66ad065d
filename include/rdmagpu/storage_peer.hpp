#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmagpu {

class RdmaGpuBuffer;

/// A peer that keeps bytes, such as a drive or a file: it can prove one direction without losing any of its
/// own.
class RDMAGPU_API StoragePeer : public Peer {
public:
  /// How many of its bytes, from its start, are lost when `bytes` of a slot are moved; 0 where it is only
  /// read.
  virtual std::uint64_t overwritten(std::size_t bytes) const noexcept = 0;
  /// What it has for a slot, read to host memory, ...
  virtual Result<void> fetch(std::uint32_t slot, std::span<std::byte> bytes) = 0;
  /// ... and the same bytes, written by it into the slot.
  virtual Result<void> fill(std::uint32_t slot, std::size_t bytes) = 0;
};

/// Proves what that peer allows. One that may be overwritten: both directions, as verify() of any peer does.
/// One that may not is only read: each slot is filled by it with what it holds, and compared with the same
/// bytes read to host memory, of which the slot held the complement. The other direction is then Unknown, and
/// `readError` says that (BlockReadOnly). One whose bytes change meanwhile is asked again, a few times.
RDMAGPU_API Result<VerifyReport> verify(const RdmaGpuBuffer&, StoragePeer&, const VerifyOptions& = {});

} // namespace rdmagpu
