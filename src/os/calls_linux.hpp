#pragma once
#include <base/symbol.hpp>
#include <os/error.hpp>

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/// The narrow door to Linux: every system call that the library makes on memory, descriptors and
/// sockets is an object here, whose type holds its name and its function, so that an error names
/// the call and the tests can stand at the other side of the door (the linker's --wrap).
namespace rdmagpu::os {

template <Symbol Name, auto Function>
struct Call {
  static constexpr const char* name() noexcept { return Name.text; }
  template <class... Args>
  auto operator()(Args... args) const noexcept {
    return Function(args...);
  }
  /// The refusal that the call has just left in errno.
  Error refusal(std::uint64_t asked = 0, std::uint64_t limit = 0) const noexcept {
    return error(name(), errno, asked, limit);
  }
};

namespace call {
inline constexpr Call<"memfd_create", ::memfd_create> memfdCreate{};
inline constexpr Call<"ftruncate", ::ftruncate> truncate{};
inline constexpr Call<"fcntl", ::fcntl> fcntl{};
inline constexpr Call<"fstat", ::fstat> fstat{};
inline constexpr Call<"lseek", ::lseek> lseek{};
inline constexpr Call<"open", ::open> open{};
inline constexpr Call<"open /dev/udmabuf", ::open> openUdmabuf{};
inline constexpr Call<"open p2pmem/allocate", ::open> openP2pmem{};
inline constexpr Call<"open O_DIRECT", ::open> openDirect{};
inline constexpr Call<"pread O_DIRECT", ::pread> readDirect{};
inline constexpr Call<"pwrite O_DIRECT", ::pwrite> writeDirect{};
inline constexpr Call<"pread", ::pread> readAt{};
inline constexpr Call<"pwrite", ::pwrite> writeAt{};
inline constexpr Call<"BLKSSZGET", ::ioctl> blockSize{};
inline constexpr Call<"BLKGETSIZE64", ::ioctl> blockDeviceBytes{};
inline constexpr Call<"UDMABUF_CREATE", ::ioctl> udmabufCreate{};
inline constexpr Call<"read", ::read> read{};
inline constexpr Call<"close", ::close> close{};
inline constexpr Call<"mmap", ::mmap> mmap{};
inline constexpr Call<"munmap", ::munmap> munmap{};
inline constexpr Call<"madvise", ::madvise> madvise{};
inline constexpr Call<"mlock", ::mlock> mlock{};
inline constexpr Call<"mincore", ::mincore> mincore{};
inline constexpr Call<"mbind", ::syscall> mbind{};
inline constexpr Call<"get_mempolicy", ::syscall> getMempolicy{};
inline constexpr Call<"getrlimit", ::getrlimit> getrlimit{};
inline constexpr Call<"sendmsg", ::sendmsg> sendmsg{};
inline constexpr Call<"recvmsg", ::recvmsg> recvmsg{};
inline constexpr Call<"socket", ::socket> socket{};
inline constexpr Call<"connect", ::connect> connect{};
inline constexpr Call<"bind", ::bind> bind{};
inline constexpr Call<"listen", ::listen> listen{};
inline constexpr Call<"accept", ::accept4> accept{};
inline constexpr Call<"send", ::send> send{};
inline constexpr Call<"recv", ::recv> recv{};
inline constexpr Call<"poll", ::poll> poll{};
inline constexpr Call<"getsockopt", ::getsockopt> getsockopt{};
inline constexpr Call<"setsockopt", ::setsockopt> setsockopt{};
inline constexpr Call<"getsockname", ::getsockname> getsockname{};
inline constexpr Call<"getpeername", ::getpeername> getpeername{};
} // namespace call

} // namespace rdmagpu::os
