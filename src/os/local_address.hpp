#pragma once
#include <rdmagpu/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rdmagpu::os {

/// One of this machine's IP addresses, as sockets have it.
class RDMAGPU_API LocalAddress {
public:
  /// Of every network device, that of the loopback among them; none where the system does not tell.
  static std::vector<LocalAddress> all();

  /// A struct sockaddr_in or sockaddr_in6.
  void* native() noexcept { return m_bytes.data(); }
  /// In the network's order of bytes. 0 at first.
  void setPort(std::uint16_t port) noexcept;
  /// As an IPv6 address: "::ffff:10.0.0.1".
  std::string text() const;

private:
  alignas(8) std::array<std::byte, 32> m_bytes{};
};

} // namespace rdmagpu::os
