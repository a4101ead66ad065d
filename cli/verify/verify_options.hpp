#pragma once
#include "options.hpp"

#include <cstdint>
#include <optional>

namespace rdmagpu::cli {

/// What the command line of `verify` says.
struct VerifyOptions {
  BufferOptions buffer;
  PeerOption peer;
  std::optional<std::uint32_t> gid{}; ///< Of a NIC's port. Empty: the library chooses.
  bool json{};
};

} // namespace rdmagpu::cli
