#include <contract/os_standin.hpp>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/memfd.h>
#include <linux/udmabuf.h>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdmagpu::test {
namespace {

/// What the kernel may answer to each call for reasons outside of the caller's control.
int plausibleErrno(std::string_view name) {
  if(name == "memfd_create" || name == "open" || name.starts_with("open ") || name == "fcntl")
    return EMFILE;
  if(name == "mbind" || name == "get_mempolicy")
    return EPERM; // a container's seccomp profile
  if(name == "close" || name == "read" || name == "lseek" || name == "fstat" || name.ends_with(" O_DIRECT") ||
     name.starts_with("BLK"))
    return EIO;
  if(name == "sendmsg" || name == "recvmsg")
    return ENOBUFS;
  return ENOMEM;
}

struct State {
  mutable std::mutex mutex;
  int failAt{};
  int made{};
  std::string failed;
  std::string failName;
  int failCode{};
  std::map<std::string, int, std::less<>> counts;
  std::set<int> fds;
  std::map<std::uintptr_t, std::size_t> mappings;
  bool udmabuf{};
  unsigned limitMegabytes{};
  std::set<int> udmabufDevices;
  std::uintptr_t lostBegin{};
  std::uintptr_t lostEnd{};
  std::ptrdiff_t lostTo{};
};

State& state() {
  static State& s = *new State; // never destroyed: gcov opens its files at exit, through the calls below
  return s;
}

/// Counts a call; true when it is to fail, with errno set.
bool fails(std::string_view name) {
  State& s = state();
  const std::lock_guard lock{s.mutex};
  ++s.counts[std::string{name}];
  if(!s.failName.empty() && s.failName == name) {
    errno = s.failCode;
    return true;
  }
  if(++s.made != s.failAt)
    return false;
  s.failed = name;
  errno = plausibleErrno(name);
  return true;
}

std::string_view nameOfOpen(std::string_view path, int flags) {
  if(path == "/dev/udmabuf")
    return "open /dev/udmabuf";
  if(path.ends_with("/p2pmem/allocate") && (flags & O_ACCMODE) == O_RDWR)
    return "open p2pmem/allocate";
  return (flags & O_DIRECT) ? "open O_DIRECT" : "open";
}

std::string_view nameOfIoctl(unsigned long request) {
  switch(request) {
  case UDMABUF_CREATE:
    return "UDMABUF_CREATE";
  case BLKSSZGET:
    return "BLKSSZGET";
  case BLKGETSIZE64:
    return "BLKGETSIZE64";
  default:
    return "";
  }
}

bool isLost(const void* memory) {
  const std::lock_guard lock{state().mutex};
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  return at >= state().lostBegin && at < state().lostEnd;
}

int acquired(int fd) {
  if(fd >= 0) {
    const std::lock_guard lock{state().mutex};
    state().fds.insert(fd);
  }
  return fd;
}

} // namespace

OsStandin& OsStandin::instance() {
  static OsStandin standin;
  return standin;
}

void OsStandin::failCall(int n) {
  const std::lock_guard lock{state().mutex};
  state().failAt = n;
  state().made = 0;
  state().failed.clear();
  state().counts.clear();
}

std::string OsStandin::failedCall() const {
  const std::lock_guard lock{state().mutex};
  return state().failed;
}

void OsStandin::failNamed(const std::string& name, int code) {
  const std::lock_guard lock{state().mutex};
  state().failName = name;
  state().failCode = code;
}

int OsStandin::calls(const std::string& name) const {
  const std::lock_guard lock{state().mutex};
  const auto found = state().counts.find(name);
  return found == state().counts.end() ? 0 : found->second;
}

void OsStandin::loseDirect(const void* begin, std::size_t bytes, std::ptrdiff_t elsewhere) {
  const std::lock_guard lock{state().mutex};
  state().lostBegin = reinterpret_cast<std::uintptr_t>(begin);
  state().lostEnd = state().lostBegin + bytes;
  state().lostTo = elsewhere;
}

void OsStandin::softUdmabuf(bool present, unsigned limitMegabytes) {
  const std::lock_guard lock{state().mutex};
  state().udmabuf = present;
  state().limitMegabytes = limitMegabytes;
}

std::string OsStandin::ledger() const {
  const std::lock_guard lock{state().mutex};
  std::string text;
  for(const int fd : state().fds)
    text += "fd " + std::to_string(fd) + "; ";
  for(const auto& [address, bytes] : state().mappings)
    text += "mapping of " + std::to_string(bytes) + " bytes; ";
  return text;
}

void OsStandin::clearLedger() {
  const std::lock_guard lock{state().mutex};
  state().fds.clear();
  state().mappings.clear();
}

} // namespace rdmagpu::test

namespace {

using namespace rdmagpu::test;

/// A descriptor from which `text` can be read.
int textFile(const std::string& text);

/// The checks of the kernel's drivers/dma-buf/udmabuf.c, in its order.
int softUdmabufCreate(const udmabuf_create& request);

} // namespace

extern "C" {

int __real_memfd_create(const char*, unsigned);
int __real_ftruncate(int, off_t);
int __real_fcntl(int, int, ...);
int __real_fstat(int, struct stat*);
off_t __real_lseek(int, off_t, int);
int __real_open(const char*, int, ...);
int __real_ioctl(int, unsigned long, ...);
ssize_t __real_read(int, void*, size_t);
int __real_close(int);
void* __real_mmap(void*, size_t, int, int, int, off_t);
int __real_munmap(void*, size_t);
int __real_madvise(void*, size_t, int);
int __real_mlock(const void*, size_t);
int __real_mincore(void*, size_t, unsigned char*);
long __real_syscall(long, ...);
int __real_getrlimit(int, struct rlimit*);
ssize_t __real_sendmsg(int, const msghdr*, int);
ssize_t __real_recvmsg(int, msghdr*, int);
ssize_t __real_pread(int, void*, size_t, off_t);
ssize_t __real_pwrite(int, const void*, size_t, off_t);

int __wrap_memfd_create(const char* name, unsigned flags) {
  return fails("memfd_create") ? -1 : acquired(__real_memfd_create(name, flags));
}

int __wrap_ftruncate(int fd, off_t size) { return fails("ftruncate") ? -1 : __real_ftruncate(fd, size); }

int __wrap_fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  if(fails("fcntl"))
    return -1;
  const int result = __real_fcntl(fd, command, argument);
  return command == F_DUPFD_CLOEXEC ? acquired(result) : result;
}

int __wrap_fstat(int fd, struct stat* status) { return fails("fstat") ? -1 : __real_fstat(fd, status); }

off_t __wrap_lseek(int fd, off_t offset, int whence) {
  return fails("lseek") ? -1 : __real_lseek(fd, offset, whence);
}

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const std::string_view name = path;
  if(fails(nameOfOpen(name, flags)))
    return -1;
  bool udmabuf{};
  unsigned limit{};
  {
    const std::lock_guard lock{state().mutex};
    udmabuf = state().udmabuf;
    limit = state().limitMegabytes;
  }
  if(udmabuf && name == "/sys/module/udmabuf/parameters/size_limit_mb")
    return acquired(textFile(std::to_string(limit) + "\n"));
  if(udmabuf && name == "/dev/udmabuf") {
    const int device = acquired(__real_open("/dev/null", flags));
    const std::lock_guard lock{state().mutex};
    state().udmabufDevices.insert(device);
    return device;
  }
  return acquired(__real_open(path, flags, mode));
}

int __wrap_ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if(!nameOfIoctl(request).empty() && fails(nameOfIoctl(request)))
    return -1;
  if(request != UDMABUF_CREATE)
    return __real_ioctl(fd, request, argument);
  bool soft{};
  {
    const std::lock_guard lock{state().mutex};
    soft = state().udmabufDevices.count(fd) != 0;
  }
  return acquired(soft ? softUdmabufCreate(*static_cast<udmabuf_create*>(argument))
                       : __real_ioctl(fd, request, argument));
}

ssize_t __wrap_read(int fd, void* to, size_t bytes) {
  return fails("read") ? -1 : __real_read(fd, to, bytes);
}

ssize_t __wrap_pread(int fd, void* to, size_t bytes, off_t offset) {
  if(fails("pread O_DIRECT"))
    return -1;
  if(!isLost(to))
    return __real_pread(fd, to, bytes, offset);
  const std::ptrdiff_t elsewhere = state().lostTo;
  if(elsewhere == 0)
    return static_cast<ssize_t>(bytes);
  return __real_pread(fd, static_cast<char*>(to) + elsewhere, bytes, offset);
}

ssize_t __wrap_pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  if(fails("pwrite O_DIRECT"))
    return -1;
  if(!isLost(from))
    return __real_pwrite(fd, from, bytes, offset);
  void* zeros = __real_mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const ssize_t written = __real_pwrite(fd, zeros, bytes, offset);
  __real_munmap(zeros, bytes);
  return written;
}

int __wrap_close(int fd) {
  {
    const std::lock_guard lock{state().mutex};
    if(fd < 0 || (state().fds.erase(fd) == 0 && __real_fcntl(fd, F_GETFD) < 0)) {
      errno = EBADF;
      static const char text[] = "os stand-in: close of a descriptor that is not open\n";
      [[maybe_unused]] const auto written = write(2, text, sizeof text - 1);
      abort();
    }
    state().udmabufDevices.erase(fd);
  }
  const bool refuse = fails("close"); // the kernel closes it all the same
  const int code = errno;
  const int result = __real_close(fd);
  errno = refuse ? code : errno;
  return refuse ? -1 : result;
}

void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if(fails("mmap"))
    return MAP_FAILED;
  void* mapped = __real_mmap(at, bytes, protection, flags, fd, offset);
  if(mapped != MAP_FAILED && !(flags & MAP_FIXED)) {
    const std::lock_guard lock{state().mutex};
    state().mappings[reinterpret_cast<std::uintptr_t>(mapped)] = bytes;
  }
  return mapped;
}

int __wrap_munmap(void* at, size_t bytes) {
  const bool refuse = fails("munmap");
  const int code = errno;
  {
    const std::lock_guard lock{state().mutex};
    const auto found = state().mappings.find(reinterpret_cast<std::uintptr_t>(at));
    if(found != state().mappings.end() && found->second == bytes)
      state().mappings.erase(found); // what the kernel refuses to release is no leak of ours
  }
  const int result = __real_munmap(at, bytes);
  errno = refuse ? code : errno;
  return refuse ? -1 : result;
}

int __wrap_madvise(void* at, size_t bytes, int advice) {
  return fails("madvise") ? -1 : __real_madvise(at, bytes, advice);
}

int __wrap_mlock(const void* at, size_t bytes) { return fails("mlock") ? -1 : __real_mlock(at, bytes); }

int __wrap_mincore(void* at, size_t bytes, unsigned char* present) {
  return fails("mincore") ? -1 : __real_mincore(at, bytes, present);
}

long __wrap_syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for(long& value : a)
    value = va_arg(arguments, long);
  va_end(arguments);
  if((number == SYS_mbind && fails("mbind")) || (number == SYS_get_mempolicy && fails("get_mempolicy")))
    return -1;
  return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int __wrap_getrlimit(int which, struct rlimit* limit) {
  return fails("getrlimit") ? -1 : __real_getrlimit(which, limit);
}

ssize_t __wrap_sendmsg(int socket, const msghdr* message, int flags) {
  return fails("sendmsg") ? -1 : __real_sendmsg(socket, message, flags);
}

ssize_t __wrap_recvmsg(int socket, msghdr* message, int flags) {
  if(fails("recvmsg"))
    return -1;
  const ssize_t got = __real_recvmsg(socket, message, flags);
  for(cmsghdr* item = got >= 0 ? CMSG_FIRSTHDR(message) : nullptr; item; item = CMSG_NXTHDR(message, item)) {
    if(item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
      const auto* fds = reinterpret_cast<const int*>(CMSG_DATA(item));
      for(size_t i = 0; i < (item->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i)
        acquired(fds[i]);
    }
  }
  return got;
}

} // extern "C"

namespace {

int textFile(const std::string& text) {
  const int fd = __real_memfd_create("text", MFD_CLOEXEC);
  [[maybe_unused]] const auto written = write(fd, text.data(), text.size());
  __real_lseek(fd, 0, SEEK_SET);
  return fd;
}

int softUdmabufCreate(const udmabuf_create& request) {
  const auto page = static_cast<std::uint64_t>(getpagesize());
  unsigned limit{};
  {
    const std::lock_guard lock{state().mutex};
    limit = state().limitMegabytes;
  }
  struct stat status {};
  const int seals = __real_fcntl(static_cast<int>(request.memfd), F_GET_SEALS);
  if(__real_fstat(static_cast<int>(request.memfd), &status) != 0 || seals < 0) {
    errno = EBADFD;
    return -1;
  }
  const bool sealed = (seals & F_SEAL_SHRINK) && !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
  const bool aligned = request.offset % page == 0 && request.size % page == 0 && request.size != 0;
  const bool inside = request.offset + request.size <= static_cast<std::uint64_t>(status.st_size);
  if(!sealed || !aligned || !inside || request.size > std::uint64_t{limit} << 20U) {
    errno = EINVAL;
    return -1;
  }
  const int fd = __real_memfd_create("dmabuf", MFD_CLOEXEC);
  if(__real_ftruncate(fd, static_cast<off_t>(request.size)) != 0)
    abort();
  return fd;
}

} // namespace
