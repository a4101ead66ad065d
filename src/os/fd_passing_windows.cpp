#include <base/library_error.hpp>
#include <os/calls_windows.hpp>
#include <os/fd_passing.hpp>

namespace rdmagpu::os {

// Windows' Unix-domain sockets carry no handles. Source: Microsoft, "AF_UNIX comes to Windows".
Result<void> sendFd(int, std::span<const std::byte>, int) {
  return libraryError("SharedBuffer::send", LibraryCode::PlatformLacks);
}

Result<ReceivedFd> receiveFd(int, std::span<std::byte>) {
  return libraryError("RdmaGpuBuffer::attach", LibraryCode::PlatformLacks);
}

Result<void> setInheritable(int fd, bool inheritable) {
  constexpr DWORD inherit = HANDLE_FLAG_INHERIT;
  if(!call::setHandleInformation(handleOf(fd), inherit, inheritable ? inherit : DWORD{0}))
    return call::setHandleInformation.refusal();
  return {};
}

} // namespace rdmagpu::os
