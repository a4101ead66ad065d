#pragma once
#include "failure.hpp"
#include "json.hpp"

#include <rdmagpu/block_peer.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <optional>
#include <string>

namespace rdmagpu::cli {

/// The block device of --peer block:PATH, ready to be the peer of these slots. What it overwrites is told on
/// stderr before.
Result<BlockPeer> openBlockPeer(const RdmaGpuBuffer& buffer, const std::string& path, bool overwrite);

/// Whether that is not a failure: the direction for which the device would have to be overwritten.
bool isLeftOut(const Error& error) noexcept;

/// Whose engine has moved the bytes, and whether that proves a device.
std::string blockMover(const BlockPeer& peer);

/// What may be wrong where every transfer succeeded and the bytes differ.
std::vector<std::string> lostBytesHints(const BufferFacts& memory);

/// "peer_pci" and "overwritten_bytes".
void addBlockPeer(Json& report, const BlockPeer& peer, std::size_t slotBytes);

} // namespace rdmagpu::cli
