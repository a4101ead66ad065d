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

/// A device that can be told to write or read one slot, as a proof asks of it.
class RDMAGPU_API Peer {
public:
  virtual ~Peer() = default;
  virtual const char* name() const noexcept = 0; ///< "software", "verbs:mlx5_0", ...
  virtual Agent agent() const noexcept = 0;
  /// Makes the peer write `bytes` to the start of the slot. Unsupported: this peer cannot, nothing was tried.
  virtual Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) = 0;
  /// Makes the peer read from the start of the slot.
  virtual Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) = 0;
};

enum class Direction : std::uint8_t { Write, Read };

/// A slot that did not hold, or the peer did not get, what was sent.
struct VerifyFailure {
  std::uint32_t slot{};
  Direction direction{};
  std::size_t offset{}; ///< The first byte that differs; 0 when `error` says that the transfer itself failed.
  std::size_t wrongBytes{};
  bool
      untouched{}; ///< The poison is still there: nothing arrived at all, although the peer reported success.
  Error error{};
};

struct VerifyOptions {
  std::size_t bytes{};   ///< Of each slot, from its start; 0: the whole slot.
  std::uint64_t seed{1}; ///< The pattern differs for each seed, slot and direction.
};

struct VerifyReport {
  const char* peer = "";
  std::uint32_t slots{};
  Answer write{};     ///< Peer -> memory. Unknown: the peer cannot, see `writeError`.
  Answer read{};      ///< Memory -> peer.
  Error writeError{}; ///< The first failure of a transfer itself, or why it was not tried.
  Error readError{};
  std::vector<VerifyFailure> failures;
  Proof proof; ///< The buffer's, with written, read and by filled in.
};

/// Proves that bytes really move, slot by slot and each direction by itself: the target is poisoned,
/// a seeded pattern is sent, and what arrived is compared on the memory's own side. Overwrites the
/// slots. The peer must not be streaming meanwhile. An Error means that the check itself could not
/// be done; bytes that did not arrive are in the report.
RDMAGPU_API Result<VerifyReport> verify(const RdmaGpuBuffer&, Peer&, const VerifyOptions& = {});

/// The same through a software peer made for the purpose.
RDMAGPU_API Result<VerifyReport> verify(const RdmaGpuBuffer&, const VerifyOptions& = {});

} // namespace rdmagpu
