#include <os/ip_address.hpp>
#include <os/local_address.hpp>

#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>

namespace rdmagpu::os {
namespace {

struct FreeList {
  void operator()(ifaddrs* list) const noexcept { ::freeifaddrs(list); }
};

} // namespace

std::vector<LocalAddress> LocalAddress::all() {
  ifaddrs* list{};
  if(::getifaddrs(&list) != 0)
    return {};
  const std::unique_ptr<ifaddrs, FreeList> owner{list};
  std::vector<LocalAddress> found;
  for(; list; list = list->ifa_next) {
    const int family = list->ifa_addr ? list->ifa_addr->sa_family : AF_UNSPEC;
    if(family == AF_INET)
      std::memcpy(found.emplace_back().native(), list->ifa_addr, sizeof(sockaddr_in));
    else if(family == AF_INET6)
      std::memcpy(found.emplace_back().native(), list->ifa_addr, sizeof(sockaddr_in6));
  }
  return found;
}

void LocalAddress::setPort(std::uint16_t port) noexcept {
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(m_bytes.data() + offsetof(sockaddr_in, sin_port), &port, sizeof port);
}

std::string LocalAddress::text() const {
  std::array<std::uint8_t, 16> bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  sa_family_t family{};
  std::memcpy(&family, m_bytes.data() + offsetof(sockaddr, sa_family), sizeof family);
  if(family == AF_INET)
    std::memcpy(bytes.data() + 12, m_bytes.data() + offsetof(sockaddr_in, sin_addr), sizeof(in_addr));
  else
    std::memcpy(bytes.data(), m_bytes.data() + offsetof(sockaddr_in6, sin6_addr), bytes.size());
  return ipv6Text(bytes.data());
}

} // namespace rdmagpu::os
