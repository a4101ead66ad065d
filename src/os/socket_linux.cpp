#include <base/library_error.hpp>
#include <os/calls_linux.hpp>
#include <os/socket.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

namespace rdmagpu::os {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found{};
  if(::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
    return libraryError("getaddrinfo", LibraryCode::HostUnknown);
  return Addresses{found};
}

/// Of a limit that the clock cannot count to, a year.
Clock::time_point in(Milliseconds limit) noexcept {
  return Clock::now() + std::min<Milliseconds>(limit, std::chrono::hours{24 * 365});
}

/// Until the socket is ready for that, or there is an error to fetch from it.
Result<void> await(const char* call, int socket, short events, Clock::time_point until) {
  for(;;) {
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now()).count();
    pollfd waiting{.fd = socket, .events = events, .revents = 0};
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    const auto wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
    const int ready = call::poll(&waiting, nfds_t{1}, wait);
    if(ready > 0)
      return {};
    if(ready == 0 && left <= most)
      return error(call, ETIMEDOUT);
    if(ready < 0 && errno != EINTR)
      return call::poll.refusal();
  }
}

Result<Fd> makeSocket(const addrinfo& address) {
  Fd made{call::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if(!made)
    return call::socket.refusal();
  return aboveStandard(std::move(made));
}

Result<Fd> connectOne(const addrinfo& address, Clock::time_point until) {
  auto made = makeSocket(address);
  if(!made)
    return made;
  if(call::connect(made->get(), address.ai_addr, address.ai_addrlen) == 0)
    return made;
  if(errno != EINPROGRESS)
    return call::connect.refusal();
  if(const auto done = await(call::connect.name(), made->get(), POLLOUT, until); !done)
    return done.error();
  int code{};
  socklen_t size = sizeof code;
  if(call::getsockopt(made->get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0)
    return call::getsockopt.refusal();
  if(code != 0)
    return error(call::connect.name(), code);
  return made;
}

/// Small messages go back and forth.
void sendAtOnce(int socket) noexcept {
  const int yes = 1;
  static_cast<void>(call::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, socklen_t{sizeof yes}));
}

SocketAddress addressOf(const sockaddr_storage& from) noexcept {
  SocketAddress address;
  if(from.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &from, sizeof six);
    std::memcpy(address.bytes.data(), &six.sin6_addr, address.bytes.size());
    address.port = ntohs(six.sin6_port);
  } else {
    sockaddr_in four{};
    std::memcpy(&four, &from, sizeof four);
    address.bytes[10] = address.bytes[11] = 0xff;
    std::memcpy(&address.bytes[12], &four.sin_addr, sizeof four.sin_addr);
    address.port = ntohs(four.sin_port);
  }
  return address;
}

} // namespace

Result<Fd> connectTo(const std::string& host, std::uint16_t port, Milliseconds limit) {
  const auto addresses = resolve(host, port, 0);
  if(!addresses)
    return addresses.error();
  std::int64_t left = 0; // addresses
  for(const addrinfo* one = addresses->get(); one; one = one->ai_next)
    ++left;
  const auto until = in(limit);
  Result<Fd> tried = libraryError("getaddrinfo", LibraryCode::HostUnknown);
  for(const addrinfo* one = addresses->get(); one; one = one->ai_next) {
    // Its share of the time: one that nobody answers from leaves the others theirs.
    const auto now = Clock::now();
    tried = connectOne(*one, now + (until - now) / left--);
    if(tried) {
      sendAtOnce(tried->get());
      break;
    }
  }
  return tried;
}

Result<Fd> listenOn(const std::string& host, std::uint16_t port) {
  const auto addresses = resolve(host, port, AI_PASSIVE);
  if(!addresses)
    return addresses.error();
  // Of all addresses the IPv6 one, where there is one, takes IPv4 too.
  const addrinfo* best = addresses->get();
  for(const addrinfo* one = best; one && host.empty(); one = one->ai_next)
    best = one->ai_family == AF_INET6 ? one : best;
  auto made = makeSocket(*best);
  if(!made && best != addresses->get()) { // a kernel without IPv6
    best = addresses->get();
    made = makeSocket(*best);
  }
  if(!made)
    return made;
  const int yes = 1;
  const int no = 0;
  static_cast<void>(call::setsockopt(made->get(), SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t{sizeof yes}));
  static_cast<void>(call::setsockopt(made->get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, socklen_t{sizeof no}));
  if(call::bind(made->get(), best->ai_addr, best->ai_addrlen) != 0)
    return call::bind.refusal();
  if(call::listen(made->get(), 1) != 0)
    return call::listen.refusal();
  return made;
}

Result<Fd> acceptOne(int listener) {
  for(;;) {
    pollfd waiting{.fd = listener, .events = POLLIN, .revents = 0};
    if(call::poll(&waiting, nfds_t{1}, -1) < 0 && errno != EINTR)
      return call::poll.refusal();
    Fd accepted{call::accept(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if(accepted) {
      sendAtOnce(accepted.get());
      return aboveStandard(std::move(accepted));
    }
    if(errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      return call::accept.refusal();
  }
}

Result<void> sendAll(int socket, std::span<const std::byte> bytes, Milliseconds limit) {
  const auto until = in(limit);
  while(!bytes.empty()) {
    const ssize_t sent = call::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if(sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
      continue;
    }
    if(errno != EAGAIN && errno != EINTR)
      return call::send.refusal();
    if(const auto ready = await(call::send.name(), socket, POLLOUT, until); !ready)
      return ready;
  }
  return {};
}

Result<void> receiveAll(int socket, std::span<std::byte> bytes, Milliseconds limit) {
  const auto until = in(limit);
  while(!bytes.empty()) {
    const ssize_t got = call::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if(got == 0)
      return error(call::recv.name(), ECONNRESET);
    if(got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
      continue;
    }
    if(errno != EAGAIN && errno != EINTR)
      return call::recv.refusal();
    if(const auto ready = await(call::recv.name(), socket, POLLIN, until); !ready)
      return ready;
  }
  return {};
}

Result<SocketAddress> ownAddress(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if(call::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) // as the call wants it
    return call::getsockname.refusal();
  return addressOf(address);
}

Result<SocketAddress> otherAddress(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if(call::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) // as the call wants it
    return call::getpeername.refusal();
  return addressOf(address);
}

Result<void> awaitInput(int fd, Milliseconds limit) { return await("poll", fd, POLLIN, in(limit)); }

} // namespace rdmagpu::os
