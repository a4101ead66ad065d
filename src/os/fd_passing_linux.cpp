#include <os/calls_linux.hpp>
#include <os/fd_passing.hpp>

#include <cstring>
#include <utility>

namespace rdmagpu::os {
namespace {

// More than one, so that a surplus descriptor is seen and closed instead of being lost.
constexpr std::size_t mostDescriptors = 4;

union Control {
  cmsghdr header;
  std::byte bytes[CMSG_SPACE(sizeof(int) * mostDescriptors)];
};

} // namespace

Result<void> sendFd(int socket, std::span<const std::byte> message, int fd) {
  Control control{};
  iovec part{const_cast<std::byte*>(message.data()), message.size()}; // sendmsg does not write to it
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = CMSG_SPACE(sizeof fd);
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  for(;;) {
    const ssize_t sent = call::sendmsg(socket, &header, MSG_NOSIGNAL);
    if(sent == static_cast<ssize_t>(message.size()))
      return {};
    if(sent >= 0) // a stream socket whose buffer is full; the descriptor has gone with the first part
      return error(call::sendmsg.name(), EMSGSIZE, message.size(), static_cast<std::uint64_t>(sent));
    if(errno != EINTR)
      return call::sendmsg.refusal(message.size());
  }
}

Result<ReceivedFd> receiveFd(int socket, std::span<std::byte> message) {
  Control control{};
  iovec part{message.data(), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof control.bytes;
  ssize_t got{};
  do
    got = call::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  while(got < 0 && errno == EINTR);
  if(got < 0)
    return call::recvmsg.refusal(message.size());

  ReceivedFd received;
  received.bytes = static_cast<std::size_t>(got);
  for(cmsghdr* item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
    if(item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
      continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for(std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
      Fd owned{fd};
      if(!received.fd)
        received.fd = std::move(owned);
    }
  }
  return received;
}

Result<void> setInheritable(int fd, bool inheritable) {
  if(call::fcntl(fd, F_SETFD, inheritable ? 0 : FD_CLOEXEC) != 0)
    return call::fcntl.refusal();
  return {};
}

} // namespace rdmagpu::os
