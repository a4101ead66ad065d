#pragma once
#include "frames/expected.hpp"

#include <cstdint>
#include <string>

namespace rdmagpu::cli {

struct HostPort {
  std::string host{};   ///< Empty: none was named.
  std::uint16_t port{}; ///< 0: the same.
};

/// "HOST", "HOST:PORT", "[IPV6]:PORT", and an IPv6 address as it is.
Expected<HostPort> parseHostPort(const std::string& text);
/// "PORT", "ADDR:PORT" and so on, for what listens.
Expected<HostPort> parseListen(const std::string& text);

} // namespace rdmagpu::cli
