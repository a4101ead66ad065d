#include <base/known_code.hpp>
#include <os/calls_windows.hpp>
#include <os/error.hpp>
#include <rdmagpu/peers/support.hpp>

#include <array>

namespace rdmagpu::os {
namespace {

#define RDMAGPU_SYSTEM_ERROR(name, kind)                                                                     \
  KnownCode { name, #name, Errc::kind }
constexpr std::array codes{
    RDMAGPU_SYSTEM_ERROR(ERROR_INVALID_FUNCTION, Unsupported),
    RDMAGPU_SYSTEM_ERROR(ERROR_FILE_NOT_FOUND, NotFound),
    RDMAGPU_SYSTEM_ERROR(ERROR_PATH_NOT_FOUND, NotFound),
    RDMAGPU_SYSTEM_ERROR(ERROR_TOO_MANY_OPEN_FILES, OutOfMemory),
    RDMAGPU_SYSTEM_ERROR(ERROR_ACCESS_DENIED, Permission),
    RDMAGPU_SYSTEM_ERROR(ERROR_INVALID_HANDLE, InvalidArgument),
    RDMAGPU_SYSTEM_ERROR(ERROR_NOT_ENOUGH_MEMORY, OutOfMemory),
    RDMAGPU_SYSTEM_ERROR(ERROR_OUTOFMEMORY, OutOfMemory),
    RDMAGPU_SYSTEM_ERROR(ERROR_SHARING_VIOLATION, Busy),
    RDMAGPU_SYSTEM_ERROR(ERROR_NOT_SUPPORTED, Unsupported),
    RDMAGPU_SYSTEM_ERROR(ERROR_INVALID_PARAMETER, InvalidArgument),
    RDMAGPU_SYSTEM_ERROR(ERROR_BROKEN_PIPE, Lost),
    RDMAGPU_SYSTEM_ERROR(ERROR_CALL_NOT_IMPLEMENTED, Unsupported),
    RDMAGPU_SYSTEM_ERROR(ERROR_MOD_NOT_FOUND, NotFound),
    RDMAGPU_SYSTEM_ERROR(ERROR_PROC_NOT_FOUND, TooOld),
    RDMAGPU_SYSTEM_ERROR(ERROR_BAD_EXE_FORMAT, Unsupported),
    RDMAGPU_SYSTEM_ERROR(ERROR_INVALID_ADDRESS, InvalidArgument),
    RDMAGPU_SYSTEM_ERROR(ERROR_DLL_INIT_FAILED, Internal),
    RDMAGPU_SYSTEM_ERROR(ERROR_NOT_ALL_ASSIGNED, Permission),
    RDMAGPU_SYSTEM_ERROR(ERROR_PRIVILEGE_NOT_HELD, Permission),
    RDMAGPU_SYSTEM_ERROR(ERROR_NO_SYSTEM_RESOURCES, OutOfMemory),
    RDMAGPU_SYSTEM_ERROR(ERROR_WORKING_SET_QUOTA, OutOfMemory),
    RDMAGPU_SYSTEM_ERROR(ERROR_COMMITMENT_LIMIT, OutOfMemory),
    RDMAGPU_SYSTEM_ERROR(ERROR_TIMEOUT, Busy),
};
#undef RDMAGPU_SYSTEM_ERROR

} // namespace

Error error(const char* call, int code, std::uint64_t asked, std::uint64_t limit) noexcept {
  return error(Origin::Os, call, code, asked, limit);
}

Error error(Origin origin, const char* call, int code, std::uint64_t asked, std::uint64_t limit) noexcept {
  return codeError(origin, codes, call, code, asked, limit);
}

} // namespace rdmagpu::os

namespace rdmagpu::peers {

Error systemError(const char* call, int code, std::uint64_t asked, std::uint64_t limit) noexcept {
  return os::error(call, code, asked, limit);
}

} // namespace rdmagpu::peers
