#include <os/error.hpp>
#include <os/system_codes.hpp>
#include <rdmagpu/peers/support.hpp>

namespace rdmagpu::os {

Error error(const char* call, int code, std::uint64_t asked, std::uint64_t limit) noexcept {
  return error(Origin::Os, call, code, asked, limit);
}

Error error(Origin origin, const char* call, int code, std::uint64_t asked, std::uint64_t limit) noexcept {
  return codeError(origin, systemCodes(), call, code, asked, limit);
}

} // namespace rdmagpu::os

namespace rdmagpu::peers {

Error systemError(const char* call, int code, std::uint64_t asked, std::uint64_t limit) noexcept {
  return os::error(call, code, asked, limit);
}

} // namespace rdmagpu::peers
