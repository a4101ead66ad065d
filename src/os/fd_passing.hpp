#pragma once
#include <os/fd.hpp>
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <span>

namespace rdmagpu::os {

/// Sends a message together with a descriptor through a connected Unix-domain socket. Raises no SIGPIPE.
Result<void> sendFd(int socket, std::span<const std::byte> message, int fd);

/// What arrived: nothing where the peer has closed the socket.
struct ReceivedFd {
  Fd fd; ///< Close-on-exec; empty when the message carried none.
  std::size_t bytes{};
};

/// Receives one message of at most `message.size()` bytes. Surplus descriptors are closed.
Result<ReceivedFd> receiveFd(int socket, std::span<std::byte> message);

/// Whether a descriptor survives exec().
Result<void> setInheritable(int fd, bool inheritable);

} // namespace rdmagpu::os
