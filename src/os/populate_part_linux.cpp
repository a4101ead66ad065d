#include <os/calls_linux.hpp>
#include <os/populate.hpp>

namespace rdmagpu::os {
namespace {

/// For kernels before 5.14, which lack MADV_POPULATE_WRITE.
void touch(std::byte* data, std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(getpagesize());
  for(std::size_t at = 0; at < bytes; at += page) {
    volatile std::byte* byte = data + at;
    *byte = *byte;
  }
}

} // namespace

Result<void> populatePart(std::byte* data, std::size_t bytes) noexcept {
  for(;;) {
    if(call::madvise(data, bytes, MADV_POPULATE_WRITE) == 0)
      return {};
    if(errno == EINVAL) {
      touch(data, bytes);
      return {};
    }
    if(errno != EAGAIN && errno != EINTR)
      return call::madvise.refusal(bytes);
  }
}

} // namespace rdmagpu::os
