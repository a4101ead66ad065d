#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/proof.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdmagpu {

class RdmaGpuBuffer;

/// A device that can be told to write or read one slot, as a proof asks of it. Must not throw.
class RDMAGPU_API Peer {
public:
  virtual ~Peer() = default;
  virtual const char* name() const noexcept = 0; ///< "software", "verbs:mlx5_0", ...
  virtual Agent agent() const noexcept = 0;
  /// Makes the peer write `bytes` to the start of the slot, and returns when it has. Unsupported: this
  /// peer cannot, nothing was tried.
  virtual Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) = 0;
  /// Makes the peer read from the start of the slot.
  virtual Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) = 0;
};

enum class Direction : std::uint8_t { Write, Read };

/// A slot that did not hold, or the peer did not get, what was sent; one for each slot and direction.
struct VerifyFailure {
  std::uint32_t slot{};
  Direction direction{};
  /// The first byte of the slot that is wrong. Past the bytes that were sent: the peer wrote there too.
  std::size_t offset{};
  std::size_t wrongBytes{};
  bool untouched{}; ///< Nothing arrived at all, although the peer reported success.
  Error error{};    ///< The transfer itself failed, and nothing was compared; else kind None.
};

struct VerifyOptions {
  std::size_t bytes{};   ///< Of each slot, from its start; 0: the whole slot.
  std::uint64_t seed{1}; ///< The pattern differs for each seed, slot and direction.
};

struct VerifyReport {
  const char* peer = "";
  std::uint32_t slots{};
  Answer write{};     ///< Peer -> memory. Unknown: the peer cannot, as `writeError` says.
  Answer read{};      ///< Memory -> peer.
  Error writeError{}; ///< Of the first transfer that itself failed, or why none was tried.
  Error readError{};
  std::vector<VerifyFailure> failures;
  Proof proof; ///< The buffer's, with written, read and by filled in.
};

/// Proves that bytes really move, slot by slot and each direction by itself. What is to be written is
/// poisoned first: no byte of the poison is the one that is sent. Then a seeded pattern is sent, and
/// what arrived is compared on the memory's own side. A write's harm to the rest of its slot, and to other
/// slots, is found too, and so is a read that changes what it reads.
///
/// Overwrites the slots, all of each. The peer must not be streaming meanwhile. Needs host memory for
/// two times `bytes`. An Error means that the check itself could not be done, such as a copy of the
/// buffer that failed; bytes that did not arrive are in the report.
RDMAGPU_API Result<VerifyReport> verify(const RdmaGpuBuffer&, Peer&, const VerifyOptions& = {});

/// The same through a software peer made for the purpose. Where no CPU can address the slots, the peer has a
/// CopyQueue move the bytes (Agent::CopyEngine); where there is none either, both directions are Unknown and
/// nothing was touched. Proves this library's own plumbing, and no third-party device.
RDMAGPU_API Result<VerifyReport> verify(const RdmaGpuBuffer&, const VerifyOptions& = {});

} // namespace rdmagpu
