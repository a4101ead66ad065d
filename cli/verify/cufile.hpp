#pragma once
#include "json.hpp"
#include "verify/report.hpp"

#include <rdmagpu/cufile_peer.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstddef>
#include <string>

namespace rdmagpu::cli {

/// The file of --peer cufile:PATH, ready to be the peer of these slots. What it overwrites is told on stderr
/// before.
Result<CuFilePeer> openCuFilePeer(const RdmaGpuBuffer& buffer, const std::string& path, bool overwrite);

/// Which way the bytes went, and why no better one.
PeerFacts factsOf(const CuFilePeer& peer);

/// "path", "direct", "path_reason", "cufile" and "overwritten_bytes".
void addCuFilePeer(Json& report, const CuFilePeer& peer, std::size_t slotBytes);

} // namespace rdmagpu::cli
