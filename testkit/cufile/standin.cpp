// A software device: NVIDIA's cuFile, as far as rdmagpu calls it, beside the software device of CUDA. Answers
// as libcufile 1.15 did on an H200 without nvidia-fs; what it is with nvidia-fs is what NVIDIA's
// documentation says. What a program that is right never does ends the process with a message.
#include <driver/cufile.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace rdmagpu::driver::cufile; // its ABI is what is implemented here
namespace cuda = rdmagpu::driver::cuda;

#define RDMAGPU_STANDIN_API extern "C" __attribute__((visibility("default")))

struct Profile {
  const char* name;
  Properties properties;
  bool forced = false;
};

constexpr unsigned measuredFeatures = 0xf;
constexpr unsigned nvme = 1U << 4;

Profile machine(const char* name, bool nvidiaFs, bool compat, unsigned features = measuredFeatures,
                bool forced = false) {
  Profile made{.name = name,
               .properties = {.maxDirectIo = 16384,
                              .featureFlags = features,
                              .maxDeviceCache = 131072,
                              .maxDevicePinned = 33554432},
               .forced = forced};
  made.properties.controlFlags = compat ? allowCompatMode : 0;
  if(nvidiaFs) {
    made.properties.nvfsMajor = 2;
    made.properties.nvfsMinor = 7;
    made.properties.statusFlags = nvme;
  }
  return made;
}

const std::array profiles{machine("h200", false, true),
                          machine("nvidia-fs", true, true),
                          machine("nvidia-fs-only", true, false),
                          machine("p2p-only", false, false, measuredFeatures | p2pSupported),
                          machine("forced", true, true, measuredFeatures, true),
                          machine("neither", false, false)};

const Profile& profileNamed(const char* name) {
  for(const Profile& known : profiles) {
    if(std::strcmp(known.name, name) == 0)
      return known;
  }
  std::fprintf(stderr, "stand-in libcufile: no profile '%s'\n", name);
  std::abort();
}

const Profile& profileAtStart() {
  const char* wanted = std::getenv("RDMAGPU_STANDIN_CUFILE_PROFILE");
  return profileNamed(wanted ? wanted : "h200");
}

struct Buffer {
  std::size_t bytes{};
  int inUse{};
};

struct File {
  int fd{};  ///< The caller's.
  int own{}; ///< Through the page cache: it takes any offset.
  int inUse{};
};

enum class Files : std::uint8_t { AsMeasured, All, None };

struct State {
  std::recursive_mutex mutex;
  const Profile* profile{};
  int process{}; ///< That has opened it; 0: none.
  int opens{};
  std::map<std::uintptr_t, Buffer> buffers;
  std::map<Handle, File> files;
  Files takes{};
  std::size_t most{~std::size_t{}}; ///< That one call moves.
  int callsUntilFailure{};
  std::string failedCall;
  std::string failName;
  std::int32_t failError{};
  std::map<std::string, int> calls;
};

State& state() {
  static State* const instance = [] { // never destroyed
    auto* made = new State;
    made->profile = &profileAtStart();
    return made;
  }();
  return *instance;
}

[[noreturn]] void misuse(const char* call, const char* what) {
  std::fprintf(stderr, "stand-in libcufile: %s: %s\n", call, what);
  std::abort();
}

/// One call, under the lock: counted, and perhaps made to fail.
class Call {
public:
  explicit Call(const char* name) : m_lock(state().mutex) {
    State& s = state();
    if(s.process != 0 && s.process != getpid())
      misuse(name, "called in a forked child");
    ++s.calls[name];
    if(s.callsUntilFailure > 0 && --s.callsUntilFailure == 0) {
      s.failedCall = name;
      m_fault = 5030;
    }
    if(s.failName == name)
      m_fault = s.failError;
  }
  bool refused() const noexcept { return m_fault != 0; }
  Status refusal() const noexcept { return {static_cast<OpError>(m_fault), {}}; }
  std::int32_t fault() const noexcept { return m_fault; }

private:
  std::unique_lock<std::recursive_mutex> m_lock;
  std::int32_t m_fault{};
};

void* libcuda() {
  static void* const opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return opened;
}

template <class Function>
Function* ofCuda(const char* name) {
  void* const found = libcuda() ? dlsym(libcuda(), name) : nullptr;
  if(!found)
    misuse(name, "CUDA's driver is not loaded");
  return reinterpret_cast<Function*>(found);
}

cuda::Status contextStatus() {
  cuda::Context current{};
  const auto got = ofCuda<cuda::Status(cuda::Context*)>("cuCtxGetCurrent")(&current);
  if(got != cuda::Status::Success)
    return got;
  return current ? cuda::Status::Success : cuda::Status::InvalidContext;
}

bool isKnownMemory(std::uintptr_t address) {
  cuda::MemoryType type{};
  const auto answered = ofCuda<cuda::Status(void*, cuda::PointerAttribute, cuda::DevicePtr)>(
      "cuPointerGetAttribute")(&type, cuda::PointerAttribute::MemoryType, address);
  return answered != cuda::Status::InvalidValue; // a call may be made to fail otherwise
}

constexpr Status success{};
Status status(OpError error) { return {error, {}}; }

bool takesFile(int fd) {
  struct statfs on {};
  if(state().takes != Files::AsMeasured)
    return state().takes == Files::All;
  constexpr auto overlay = 0x794c7630;
  constexpr auto tmpfs = 0x01021994;
  return fstatfs(fd, &on) == 0 && on.f_type != overlay && on.f_type != tmpfs;
}

void ensureOpen() {
  State& s = state();
  if(s.process == 0) {
    s.process = getpid();
    ++s.opens;
  }
}

Buffer& registered(const char* call, std::uintptr_t base) {
  const auto it = state().buffers.find(base);
  if(it == state().buffers.end())
    misuse(call, "the buffer's base is not what was registered");
  return it->second;
}

File& known(const char* call, Handle handle) {
  const auto it = state().files.find(handle);
  if(it == state().files.end())
    misuse(call, "no such handle, or it was deregistered");
  if(fcntl(it->second.fd, F_GETFD) < 0)
    misuse(call, "the file's descriptor was closed before its handle was deregistered");
  return it->second;
}

/// A transfer that holds no lock while it moves bytes.
template <class Move>
Moved transfer(const char* name, Handle handle, std::uintptr_t base, std::size_t bytes, std::int64_t offset,
               Move move) {
  State& s = state();
  int fd = -1;
  Buffer* buffer{};
  File* file{};
  {
    const Call call{name};
    if(call.refused())
      return Moved{call.fault() < 5000 ? -1 : -call.fault()};
    buffer = &registered(name, base);
    file = &known(name, handle);
    if(offset < 0 || static_cast<std::size_t>(offset) > buffer->bytes ||
       bytes > buffer->bytes - static_cast<std::size_t>(offset))
      misuse(name, "the range passes the end of what was registered");
    if(contextStatus() != cuda::Status::Success)
      return Moved{-static_cast<std::int64_t>(OpError::CudaDriverError)};
    bytes = std::min(bytes, s.most);
    fd = file->own;
    ++buffer->inUse;
    ++file->inUse;
  }
  const std::int64_t moved =
      move(fd, static_cast<cuda::DevicePtr>(base) + static_cast<std::uint64_t>(offset), bytes);
  const int code = errno;
  const std::lock_guard lock{s.mutex};
  --buffer->inUse;
  --file->inUse;
  errno = code;
  return Moved{moved};
}

} // namespace

RDMAGPU_STANDIN_API Status cuFileDriverOpen() {
  const Call call{"cuFileDriverOpen"};
  if(call.refused())
    return call.refusal();
  state().process = getpid();
  ++state().opens;
  return success;
}

RDMAGPU_STANDIN_API Status cuFileGetVersion(int* version) {
  const Call call{"cuFileGetVersion"};
  if(call.refused())
    return call.refusal();
  *version = 1150;
  return success;
}

RDMAGPU_STANDIN_API Status cuFileGetParameterBool(BoolParameter parameter, bool* value) {
  const Call call{"cuFileGetParameterBool"};
  if(call.refused())
    return call.refusal();
  if(parameter != BoolParameter::ForceCompatMode)
    return status(OpError::InvalidValue);
  *value = state().profile->forced;
  return success;
}

RDMAGPU_STANDIN_API Status cuFileDriverGetProperties(Properties* properties) {
  const Call call{"cuFileDriverGetProperties"};
  if(call.refused())
    return call.refusal();
  ensureOpen();
  *properties = state().profile->properties;
  return success;
}

RDMAGPU_STANDIN_API Status cuFileBufRegister(const void* base, std::size_t bytes, int) {
  const Call call{"cuFileBufRegister"};
  if(call.refused())
    return call.refusal();
  if(!base || bytes == 0)
    return status(OpError::InvalidValue);
  ensureOpen();
  if(const cuda::Status context = contextStatus(); context != cuda::Status::Success)
    return {OpError::CudaDriverError, context};
  const auto at = reinterpret_cast<std::uintptr_t>(base);
  if(!state().buffers.try_emplace(at, Buffer{.bytes = bytes}).second)
    return status(OpError::MemoryAlreadyRegistered);
  return success;
}

RDMAGPU_STANDIN_API Status cuFileBufDeregister(const void* base) {
  const Call call{"cuFileBufDeregister"};
  if(call.refused())
    return call.refusal();
  const auto at = reinterpret_cast<std::uintptr_t>(base);
  const auto it = state().buffers.find(at);
  if(it == state().buffers.end())
    return status(OpError::MemoryNotRegistered);
  if(it->second.inUse != 0)
    misuse("cuFileBufDeregister", "a transfer is under way");
  if(!isKnownMemory(at))
    misuse("cuFileBufDeregister", "the memory went before it was deregistered");
  state().buffers.erase(it);
  return success;
}

RDMAGPU_STANDIN_API Status cuFileHandleRegister(Handle* handle, Descriptor* descriptor) {
  const Call call{"cuFileHandleRegister"};
  if(call.refused())
    return call.refusal();
  ensureOpen();
  State& s = state();
  if(!handle || !descriptor)
    return status(OpError::InvalidValue);
  if(descriptor->type != HandleType::OpaqueFd)
    return status(OpError::IoNotSupported);
  struct stat about {};
  if(fstat(descriptor->fd, &about) != 0)
    return status(OpError::InvalidValue);
  if(!S_ISREG(about.st_mode) && !S_ISBLK(about.st_mode))
    return status(OpError::InvalidFileType);
  const int flags = fcntl(descriptor->fd, F_GETFL);
  if((flags & O_APPEND) != 0)
    return status(OpError::InvalidFileOpenFlag);
  if(!takesFile(descriptor->fd))
    return status(OpError::HandleNotRegistered);
  for(const auto& [other, file] : s.files) {
    if(file.fd == descriptor->fd)
      return status(OpError::HandleAlreadyRegistered);
  }
  const std::string again = "/proc/self/fd/" + std::to_string(descriptor->fd);
  const int own = open(again.c_str(), (flags & O_ACCMODE) | O_CLOEXEC);
  if(own < 0)
    return status(OpError::InvalidValue);
  static std::uintptr_t last = 0x1000;
  *handle = reinterpret_cast<Handle>(last += 16);
  s.files[*handle] = {.fd = descriptor->fd, .own = own};
  return success;
}

RDMAGPU_STANDIN_API void cuFileHandleDeregister(Handle handle) {
  const std::lock_guard lock{state().mutex};
  if(state().process != getpid())
    misuse("cuFileHandleDeregister", "called in a forked child");
  const File& file = known("cuFileHandleDeregister", handle);
  if(file.inUse != 0)
    misuse("cuFileHandleDeregister", "a transfer is under way");
  close(file.own);
  state().files.erase(handle);
}

RDMAGPU_STANDIN_API Moved cuFileRead(Handle handle, void* base, std::size_t bytes, std::int64_t fileOffset,
                                     std::int64_t offset) {
  return transfer("cuFileRead", handle, reinterpret_cast<std::uintptr_t>(base), bytes, offset,
                  [&](int fd, cuda::DevicePtr to, std::size_t most) -> std::int64_t {
                    std::vector<std::byte> between(most);
                    const ssize_t got = pread(fd, between.data(), most, fileOffset);
                    if(got <= 0)
                      return got;
                    const auto copy =
                        ofCuda<cuda::Status(cuda::DevicePtr, const void*, std::size_t)>("cuMemcpyHtoD_v2");
                    if(copy(to, between.data(), static_cast<std::size_t>(got)) != cuda::Status::Success)
                      return -static_cast<std::int64_t>(OpError::CudaDriverError);
                    return got;
                  });
}

RDMAGPU_STANDIN_API Moved cuFileWrite(Handle handle, const void* base, std::size_t bytes,
                                      std::int64_t fileOffset, std::int64_t offset) {
  return transfer("cuFileWrite", handle, reinterpret_cast<std::uintptr_t>(base), bytes, offset,
                  [&](int fd, cuda::DevicePtr from, std::size_t most) -> std::int64_t {
                    std::vector<std::byte> between(most);
                    const auto copy =
                        ofCuda<cuda::Status(void*, cuda::DevicePtr, std::size_t)>("cuMemcpyDtoH_v2");
                    if(copy(between.data(), from, most) != cuda::Status::Success)
                      return -static_cast<std::int64_t>(OpError::CudaDriverError);
                    return pwrite(fd, between.data(), most, fileOffset);
                  });
}

/// Starts to count calls anew and makes the n-th one fail with CU_FILE_INTERNAL_ERROR; 0: none.
RDMAGPU_STANDIN_API void rdmagpu_standin_cufile_fail_call(int n) {
  const std::lock_guard lock{state().mutex};
  state().callsUntilFailure = n;
  state().failedCall.clear();
  state().calls.clear();
}

/// The call that was made to fail; empty when none was.
RDMAGPU_STANDIN_API const char* rdmagpu_standin_cufile_failed_call() {
  const std::lock_guard lock{state().mutex};
  return state().failedCall.c_str();
}

/// Makes each call of that function fail with that CUfileOpError; transfers with -1 where it is below 5000.
/// An empty name: none.
RDMAGPU_STANDIN_API void rdmagpu_standin_cufile_fail_named(const char* name, int error) {
  const std::lock_guard lock{state().mutex};
  state().failName = name;
  state().failError = error;
}

/// How many calls of that function were made since rdmagpu_standin_cufile_fail_call.
RDMAGPU_STANDIN_API int rdmagpu_standin_cufile_calls(const char* name) {
  const std::lock_guard lock{state().mutex};
  const auto it = state().calls.find(name);
  return it == state().calls.end() ? 0 : it->second;
}

/// What is registered now, in words; empty when nothing is. The text lives until the next call.
RDMAGPU_STANDIN_API const char* rdmagpu_standin_cufile_ledger() {
  const std::lock_guard lock{state().mutex};
  static std::string text;
  text.clear();
  if(!state().buffers.empty())
    text += std::to_string(state().buffers.size()) + " buffers; ";
  if(!state().files.empty())
    text += std::to_string(state().files.size()) + " files; ";
  return text.c_str();
}

/// How often it was opened.
RDMAGPU_STANDIN_API int rdmagpu_standin_cufile_opens() {
  const std::lock_guard lock{state().mutex};
  return state().opens;
}

/// What machine it is from now on; an empty name: that which it was at first.
RDMAGPU_STANDIN_API void rdmagpu_standin_cufile_profile(const char* name) {
  const std::lock_guard lock{state().mutex};
  state().profile = *name ? &profileNamed(name) : &profileAtStart();
}

/// Which files it takes: 0: those of file systems that were not refused where it was measured; 1: all; 2:
/// none.
RDMAGPU_STANDIN_API void rdmagpu_standin_cufile_takes(int files) {
  const std::lock_guard lock{state().mutex};
  state().takes = static_cast<Files>(files);
}

/// How many bytes one call moves at most; 0: any number.
RDMAGPU_STANDIN_API void rdmagpu_standin_cufile_most(std::size_t bytes) {
  const std::lock_guard lock{state().mutex};
  state().most = bytes ? bytes : ~std::size_t{};
}
