#pragma once
#include <backend/backend.hpp>

#include <string>

namespace rdmagpu::backend::pci_p2p {

/// The device with peer-to-peer memory that the config names; else the one that shares most of the peer's
/// way, or the first. `root` replaces "/".
Result<DevicePtr> open(const RdmaGpuBufferConfig&, const std::string& root = "");

/// What there is to list.
BackendInfo probe(const std::string& root = "");

} // namespace rdmagpu::backend::pci_p2p
