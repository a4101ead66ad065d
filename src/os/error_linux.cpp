#include <os/system_codes.hpp>

#include <array>
#include <cerrno>

namespace rdmagpu::os {
namespace {

#define RDMAGPU_ERRNO(name, kind)                                                                            \
  KnownCode { name, #name, Errc::kind }
constexpr std::array codes{
    RDMAGPU_ERRNO(EPERM, Permission),
    RDMAGPU_ERRNO(ENOENT, NotFound),
    RDMAGPU_ERRNO(EINTR, Busy),
    RDMAGPU_ERRNO(EIO, Internal),
    RDMAGPU_ERRNO(ENXIO, NotFound),
    RDMAGPU_ERRNO(EBADF, InvalidArgument),
    RDMAGPU_ERRNO(EAGAIN, Busy),
    RDMAGPU_ERRNO(ENOMEM, OutOfMemory),
    RDMAGPU_ERRNO(EACCES, Permission),
    RDMAGPU_ERRNO(EFAULT, Internal),
    RDMAGPU_ERRNO(EBUSY, Busy),
    RDMAGPU_ERRNO(EEXIST, InvalidArgument),
    RDMAGPU_ERRNO(ENODEV, NotFound),
    RDMAGPU_ERRNO(EINVAL, InvalidArgument),
    RDMAGPU_ERRNO(ENFILE, OutOfMemory),
    RDMAGPU_ERRNO(EMFILE, OutOfMemory),
    RDMAGPU_ERRNO(ENOTTY, Unsupported),
    RDMAGPU_ERRNO(EFBIG, OutOfMemory),
    RDMAGPU_ERRNO(ENOSPC, OutOfMemory),
    RDMAGPU_ERRNO(EROFS, Permission),
    RDMAGPU_ERRNO(EPIPE, Lost),
    RDMAGPU_ERRNO(ENOSYS, Unsupported),
    RDMAGPU_ERRNO(EBADFD, InvalidArgument),
    RDMAGPU_ERRNO(EPROTO, Internal),
    RDMAGPU_ERRNO(ENOTSOCK, InvalidArgument),
    RDMAGPU_ERRNO(EOPNOTSUPP, Unsupported),
    RDMAGPU_ERRNO(ENOTCONN, InvalidArgument),
    RDMAGPU_ERRNO(ECONNRESET, Lost),
    RDMAGPU_ERRNO(ECONNREFUSED, NotFound),
    RDMAGPU_ERRNO(EHOSTUNREACH, NotFound),
    RDMAGPU_ERRNO(ENETUNREACH, NotFound),
    RDMAGPU_ERRNO(EADDRINUSE, Busy),
    RDMAGPU_ERRNO(EADDRNOTAVAIL, InvalidArgument),
    RDMAGPU_ERRNO(ETIMEDOUT, Busy),
    RDMAGPU_ERRNO(EPROTONOSUPPORT, TooOld),
    RDMAGPU_ERRNO(EREMOTEIO, Unsupported), // of direct I/O: the driver takes no peer-to-peer memory
    RDMAGPU_ERRNO(EHWPOISON, Lost),
    RDMAGPU_ERRNO(ENOBUFS, OutOfMemory),
    RDMAGPU_ERRNO(EMSGSIZE, InvalidArgument),
    RDMAGPU_ERRNO(EOVERFLOW, InvalidArgument),
    RDMAGPU_ERRNO(ENODATA, NotFound),
    RDMAGPU_ERRNO(ENETDOWN, Busy),
    RDMAGPU_ERRNO(ENOLINK, InvalidArgument),
    KnownCode{524, "ENOTSUPP",
              Errc::Unsupported}, // the kernel's own, which no user should see, and drivers return
};
#undef RDMAGPU_ERRNO

} // namespace

std::span<const KnownCode> systemCodes() noexcept { return codes; }

} // namespace rdmagpu::os
