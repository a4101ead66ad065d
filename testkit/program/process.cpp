#include <program/operations.hpp>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace rdmagpu::testkit::operations {
namespace {

constexpr int childSeconds = 20;

/// What a process does that inherited a driver, or has not initialised it: each call with its name.
template <class Visit>
void visitHarmless(const Session& s, Visit visit) {
  int number{};
  unsigned flags{};
  std::size_t bytes{};
  api::Device device{};
  api::Context context{};
  api::MemHandle handle{};
  api::DevicePtr address{};
  const api::AllocationProp prop{};
  visit("cuDeviceGetCount", [&] { return s.cuda.deviceGetCount(&number); });
  visit("cuDeviceGet", [&] { return s.cuda.deviceGet(&device, 0); });
  visit("cuDeviceGetAttribute", [&] {
    return s.cuda.deviceGetAttribute(&number, api::DeviceAttribute::GpuDirectRdmaSupported, api::Device{});
  });
  visit("cuCtxGetCurrent", [&] { return s.cuda.ctxGetCurrent(&context); });
  visit("cuCtxGetDevice", [&] { return s.cuda.ctxGetDevice(&device); });
  visit("cuDevicePrimaryCtxGetState",
        [&] { return s.cudaApi.primaryCtxGetState(api::Device{}, &flags, &number); });
  visit("cuMemGetAllocationGranularity",
        [&] { return s.cuda.memGetAllocationGranularity(&bytes, &prop, api::Granularity::Minimum); });
  visit("cuMemCreate", [&] { return s.cuda.memCreate(&handle, s.model.granularity, &prop, 0); });
  visit("cuMemAddressReserve",
        [&] { return s.cuda.memAddressReserve(&address, s.model.granularity, 0, 0, 0); });
  visit("cuMemAlloc_v2", [&] { return s.cuda.memAlloc(&address, 4096); });
  visit("cuDevicePrimaryCtxRetain", [&] { return s.cuda.primaryCtxRetain(&context, api::Device{}); });
  visit("cuFlushGPUDirectRDMAWrites", [&] {
    return s.cuda.flushGpuDirectRdmaWrites(api::FlushTarget::CurrentContext, api::FlushScope::ToOwner);
  });
}

[[noreturn]] void runChild(const Session& s, int out) {
  const auto tell = [&](const std::string& text) {
    if(write(out, text.data(), text.size()) < 0)
      _exit(1);
  };
  visitHarmless(s, [&](const char* function, auto invoke) {
    tell(std::string{function} + "=");
    tell(std::to_string(static_cast<std::uint32_t>(invoke())) + " ");
  });
  tell("cuInit=" + std::to_string(static_cast<std::uint32_t>(s.cuda.init(0))));
  _exit(0);
}

/// All that the child wrote until it ended, or until its time was up.
std::string readAll(int fd, bool& hung) {
  std::string text;
  std::array<char, 512> part{};
  hung = false;
  for(;;) {
    pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
    if(poll(&wanted, 1, childSeconds * 1000) <= 0) {
      hung = true;
      return text;
    }
    const ssize_t got = read(fd, part.data(), part.size());
    if(got <= 0)
      return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

} // namespace

void beforeInit(Session& s) {
  visitHarmless(s, [&](const char* function, auto invoke) {
    const Asked asked{.function = function, .variant = "before-init", .effect = Effect::ChangesState};
    if(s.succeeds(asked, [&](std::string&) { return invoke(); }))
      s.end();
  });
  s.call({.function = "cuInit", .variant = "bad-flags", .arguments = Arguments{}("flags", 1)},
         [&](std::string&) { return s.cuda.init(1); });
}

void callInChild(Session& s) {
  s.call({.function = "fork", .variant = "child-calls"}, [&](std::string& value) {
    int ends[2];
    if(pipe(ends) != 0)
      return api::Status::OutOfMemory;
    const pid_t child = fork();
    if(child == 0) {
      close(ends[0]);
      runChild(s, ends[1]);
    }
    close(ends[1]);
    bool hung = child < 0;
    value = child < 0 ? "" : readAll(ends[0], hung);
    close(ends[0]);
    if(child < 0)
      return api::Status::OutOfMemory;
    if(hung)
      kill(child, SIGKILL);
    int status{};
    waitpid(child, &status, 0);
    if(hung)
      value += " hung";
    else if(WIFSIGNALED(status))
      value += " signal=" + std::to_string(WTERMSIG(status));
    return api::Status::Success;
  });
}

} // namespace rdmagpu::testkit::operations
