#pragma once
#include "failure.hpp"
#include "json.hpp"
#include "verify/nic.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmagpu::cli {

/// What is to be said of a peer beside the report.
struct PeerFacts {
  std::string mover;              ///< Whose engine moves the bytes, and what that proves.
  std::vector<std::string> hints; ///< For bytes that are lost although every transfer succeeded.
  std::optional<NicFacts> nic{};  ///< Empty for any other peer.
  std::string path{};             ///< Of a file's bytes; empty for any other peer.
};

/// Empty when each direction is proven that was not left out.
std::optional<Failure> failureOf(const VerifyReport&, const PeerFacts&);
std::string toText(const VerifyReport&, const BufferFacts&, const PeerFacts&);
Json toJson(const VerifyReport&, RdmaGpuApi, const PeerFacts&);

/// Of a NIC, once it has moved bytes; and of the peer on the CPU.
PeerFacts factsOf(const NicFacts&, Agent by);
PeerFacts softwareFacts(const BufferFacts&);

/// Empty when the client has both directions proven.
std::optional<Failure> failureOf(const NicService&);
std::string toText(const NicService&);
Json toJson(const NicService&);

} // namespace rdmagpu::cli
