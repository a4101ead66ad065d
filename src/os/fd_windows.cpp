#include <base/log.hpp>
#include <os/calls_windows.hpp>
#include <os/fd.hpp>

namespace rdmagpu::os {

void FdTraits::close(int fd) noexcept {
  if(!call::closeHandle(handleOf(fd)))
    log(LogLevel::Failure, "a handle could not be closed", call::closeHandle.refusal());
}

Result<Fd> duplicate(int fd) {
  HANDLE copy{};
  const HANDLE self = ::GetCurrentProcess();
  if(!call::duplicateHandle(self, handleOf(fd), self, &copy, DWORD{0}, FALSE, DWORD{DUPLICATE_SAME_ACCESS}))
    return call::duplicateHandle.refusal();
  return Fd{fdOf(copy)};
}

Result<Fd> aboveStandard(Fd fd) { return fd; } // no handle is what a program prints to unasked

} // namespace rdmagpu::os
