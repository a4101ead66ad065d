#pragma once
#include <rdmagpu/export.hpp>

#include <cstdint>
#include <string>

namespace rdmagpu::os {

/// Sixteen bytes as an IPv6 address is written: "fe80::1", "::ffff:10.0.0.1".
RDMAGPU_API std::string ipv6Text(const std::uint8_t* address);

} // namespace rdmagpu::os
