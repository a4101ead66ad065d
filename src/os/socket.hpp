#pragma once
#include <os/fd.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// TCP between two hosts, with a limit on the time that each call takes.
namespace rdmagpu::os {

using Milliseconds = std::chrono::milliseconds;

/// Tries each address of the host in turn.
RDMAGPU_API Result<Fd> connectTo(const std::string& host, std::uint16_t port, Milliseconds limit);
/// An empty host: all addresses of this one. Port 0: one that is free.
RDMAGPU_API Result<Fd> listenOn(const std::string& host, std::uint16_t port);
/// Waits for as long as it takes.
RDMAGPU_API Result<Fd> acceptOne(int listener);

/// All of it, or an Error: ETIMEDOUT where the other side is too slow, ECONNRESET where it has gone.
RDMAGPU_API Result<void> sendAll(int socket, std::span<const std::byte> bytes, Milliseconds limit);
RDMAGPU_API Result<void> receiveAll(int socket, std::span<std::byte> bytes, Milliseconds limit);

/// Until there is something to read, or an Error: ETIMEDOUT. Of any descriptor that poll() takes.
RDMAGPU_API Result<void> awaitInput(int fd, Milliseconds limit);

struct SocketAddress {
  std::array<std::uint8_t, 16> bytes{}; ///< IPv6, or IPv4 within it.
  std::uint16_t port{};
};
RDMAGPU_API Result<SocketAddress> ownAddress(int socket);
RDMAGPU_API Result<SocketAddress> otherAddress(int socket);

} // namespace rdmagpu::os
