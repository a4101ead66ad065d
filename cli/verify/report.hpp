#pragma once
#include "failure.hpp"
#include "json.hpp"
#include "verify/nic.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <optional>
#include <string>

namespace rdmagpu::cli {

/// Empty when both directions are proven.
std::optional<Failure> failureOf(const VerifyReport&, bool throughNic);

/// `nic` is empty for the software peer.
std::string toText(const VerifyReport&, const BufferFacts&, const std::optional<NicFacts>& nic);
Json toJson(const VerifyReport&, RdmaGpuApi, const std::optional<NicFacts>& nic);

/// Empty when the client has both directions proven.
std::optional<Failure> failureOf(const NicService&);
std::string toText(const NicService&);
Json toJson(const NicService&);

} // namespace rdmagpu::cli
