#include <os/ip_address.hpp>

#include <arpa/inet.h>

#include <array>

namespace rdmagpu::os {

std::string ipv6Text(const std::uint8_t* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, address, text.data(), text.size()) ? text.data() : "";
}

} // namespace rdmagpu::os
