#pragma once
#include <rdmagpu/doctor.hpp>

#include <memory>

namespace rdmagpu::cli {

/// What tries RDMA devices; null in a build without rdmagpu::verbs.
std::unique_ptr<PeerTrial> peerTrial();

} // namespace rdmagpu::cli
