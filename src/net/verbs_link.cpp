#include <net/verbs_link.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rdmagpu::net {

Result<void> Link::connectPairs() {
  const auto address = os::ownAddress(m_socket.get());
  if(!address)
    return address.error();
  ibv_gid preferred{};
  std::memcpy(preferred.raw, address->bytes.data(), sizeof preferred.raw);
  m_pair.reset();
  auto made = QueuePair::make(m_domain, {.port = m_options.port, .gidIndex = m_options.gidIndex}, &preferred);
  if(!made)
    return made.error();
  const bool hardware = isHardware(*m_domain->context->device);
  const auto own = encode(Hello{.end = made->endpoint(), .hardware = hardware});
  std::array<std::byte, helloBytes> message{};
  if(m_role == Role::Client) {
    if(const auto sent = send(own); !sent)
      return sent;
  }
  if(const auto got = receive(message); !got)
    return got;
  const auto other = decodeHello(message);
  if(!other)
    return other.error();
  // The server's answer says that its end is ready.
  constexpr std::uint8_t hops = 64;
  if(const auto done = made->connect(other->end, hops); !done)
    return done;
  if(m_role == Role::Server) {
    if(const auto sent = send(own); !sent)
      return sent;
  }
  m_maxMessage = std::min(made->endpoint().maxMessage, other->end.maxMessage);
  m_hardware = hardware && other->hardware;
  m_pair.emplace(*std::move(made));
  return {};
}

/// While the client fills and compares slots.
Result<void> Link::await(std::span<std::byte> bytes) const {
  constexpr int patience = 30;
  constexpr std::chrono::milliseconds most = std::chrono::hours{24};
  return os::receiveAll(m_socket.get(), bytes, patience * std::min(m_options.timeout, most));
}

} // namespace rdmagpu::net
