#pragma once
#include "options.hpp"
#include "verify/host_port.hpp"

#include <cstdint>
#include <optional>

namespace rdmagpu::cli {

/// What the command line of `verify` says.
struct VerifyOptions {
  BufferOptions buffer;
  PeerOption peer;
  std::optional<std::uint32_t> gid{}; ///< Of a NIC's port. Empty: the library chooses.
  std::optional<HostPort> to{};       ///< Where the NIC is that moves the bytes; else it is this host's.
  std::optional<HostPort> listen{};   ///< To be that NIC for another host.
  bool overwrite{};                   ///< Of a block device: it may be written, too.
  bool json{};
};

} // namespace rdmagpu::cli
