#include <base/library_error.hpp>
#include <os/calls_linux.hpp>
#include <os/files.hpp>
#include <os/udmabuf.hpp>

#include <linux/udmabuf.h>
#include <utility>

namespace rdmagpu::os {
namespace {

Result<Fd> openUdmabuf(std::uint64_t bytes) {
  Fd device{call::openUdmabuf("/dev/udmabuf", O_RDWR | O_CLOEXEC)};
  if(device)
    return device;
  Error error = call::openUdmabuf.refusal(bytes);
  if(error.code == ENOENT)
    error.kind = Errc::Unsupported; // what is asked for is an export, and this kernel has none
  return error;
}

} // namespace

Result<void> checkUdmabuf() {
  const auto device = openUdmabuf(0);
  return device ? Result<void>{} : device.error();
}

Result<Fd> exportMemfd(int memfd, std::uint64_t offset, std::uint64_t bytes) {
  const auto device = openUdmabuf(bytes);
  if(!device)
    return device.error();
  // Beyond its limit the driver answers EINVAL, as it does for a missing seal: so it is asked first.
  const auto text = readIfThere("/sys/module/udmabuf/parameters/size_limit_mb");
  const auto megabytes = text ? numberAfter(*text, "") : std::nullopt;
  if(megabytes && bytes > *megabytes << 20U)
    return libraryError("UDMABUF_CREATE", LibraryCode::UdmabufLimit, bytes, *megabytes << 20U);

  udmabuf_create request{};
  request.memfd = static_cast<std::uint32_t>(memfd);
  request.flags = UDMABUF_FLAGS_CLOEXEC;
  request.offset = offset;
  request.size = bytes;
  Fd dmaBuf{call::udmabufCreate(device->get(), UDMABUF_CREATE, &request)};
  if(!dmaBuf)
    return call::udmabufCreate.refusal(bytes);
  return aboveStandard(std::move(dmaBuf));
}

Result<std::uint64_t> fileBytes(int fd) {
  const off_t end = call::lseek(fd, 0, SEEK_END);
  if(end < 0)
    return call::lseek.refusal();
  return static_cast<std::uint64_t>(end);
}

} // namespace rdmagpu::os
