#include <os/host_pages.hpp>
#include <os/populate.hpp>

namespace rdmagpu::os {

Result<void> populatePart(std::byte* data, std::size_t bytes) noexcept {
  const std::size_t page = pageBytes();
  for(std::size_t at = 0; at < bytes; at += page) { // committed, so that no touch can fail
    volatile std::byte* byte = data + at;
    *byte = *byte;
  }
  return {};
}

} // namespace rdmagpu::os
