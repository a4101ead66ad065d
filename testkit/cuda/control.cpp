#include <cuda/standin.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rdmagpu::standin::cuda {
namespace {

thread_local int callsInside = 0;

/// Whether a call gives something back. A fault does not keep it from doing so: what the driver
/// refuses to release nobody could release.
bool givesBack(const char* name) {
  for(const char* known :
      {"cuMemUnmap", "cuMemAddressFree", "cuMemRelease", "cuMemFree_v2", "cuCtxPopCurrent_v2",
       "cuDevicePrimaryCtxRelease_v2", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuMemHostUnregister",
       "cuMemFreeAsync", "cuMemFreeHost", "cuModuleUnload", "cuCtxDestroy_v2"}) {
    if(std::strcmp(name, known) == 0)
      return true;
  }
  return false;
}

} // namespace

State& state() {
  // Never destroyed: what tests release at the very end of the process still finds it.
  static State* const instance = [] {
    auto* made = new State;
    made->profile = &profileAtStart(RDMAGPU_STANDIN_PROFILE);
    const char* calls = std::getenv("RDMAGPU_STANDIN_CUDA_SHUT_DOWN_AFTER");
    made->callsUntilShutdown = calls ? static_cast<int>(std::strtol(calls, nullptr, 10)) : 0;
    return made;
  }();
  return *instance;
}

Status misuse(const char* call, const char* what, Status answer) {
  static const bool answers = [] {
    const char* wanted = std::getenv("RDMAGPU_STANDIN_CUDA_MISUSE");
    return wanted && std::strcmp(wanted, "answer") == 0;
  }();
  if(answers)
    return answer;
  std::fprintf(stderr, "stand-in libcuda: %s: %s\n", call, what);
  std::abort();
}

void shutDown() {
  state().shutDown = true;
  forgetContexts();
  state().streams.clear();
  state().events.clear();
  freeAllPlain();
  freeAllMapped();
}

Call::Inside::Inside() noexcept { ++callsInside; }
Call::Inside::~Inside() { --callsInside; }

Call::Call(const char* name) : m_lock(state().mutex) {
  State& s = state();
  Status fault{};
  ++s.calls[name];
  if(s.callsUntilFailure > 0 && --s.callsUntilFailure == 0) {
    s.failedCall = name;
    fault = Status::Unknown;
  }
  if(s.failName == name)
    fault = s.failStatus;
  if(s.process != getpid() && std::strcmp(name, "cuInit") != 0)
    fault = Status::NotInitialized;
  if(s.callsUntilShutdown > 0 && --s.callsUntilShutdown == 0)
    shutDown();
  if(s.shutDown)
    fault = Status::Deinitialized;
  const bool late = givesBack(name) && s.process == getpid() && !s.shutDown;
  m_refusal = late ? Status::Success : fault;
  m_outcome = late ? fault : Status::Success;
}

} // namespace rdmagpu::standin::cuda

using rdmagpu::standin::cuda::state;

/// Starts to count calls anew and makes the n-th one fail with CUDA_ERROR_UNKNOWN; 0: none.
RDMAGPU_STANDIN_API void rdmagpu_standin_cuda_fail_call(int n) {
  const std::lock_guard lock{state().mutex};
  state().callsUntilFailure = n;
  state().failedCall.clear();
  state().calls.clear();
  state().flushedTo = 0;
}

/// The call that was made to fail; empty when none was.
RDMAGPU_STANDIN_API const char* rdmagpu_standin_cuda_failed_call() {
  const std::lock_guard lock{state().mutex};
  return state().failedCall.c_str();
}

/// Makes each call of that function fail with that CUresult; an empty name: none.
RDMAGPU_STANDIN_API void rdmagpu_standin_cuda_fail_named(const char* name, unsigned status) {
  const std::lock_guard lock{state().mutex};
  state().failName = name;
  state().failStatus = static_cast<rdmagpu::driver::cuda::Status>(status);
}

/// How many calls of that function were made since rdmagpu_standin_cuda_fail_call.
RDMAGPU_STANDIN_API int rdmagpu_standin_cuda_calls(const char* name) {
  const std::lock_guard lock{state().mutex};
  const auto it = state().calls.find(name);
  return it == state().calls.end() ? 0 : it->second;
}

/// What exists now, in words; empty when nothing does. The text lives until the next call.
RDMAGPU_STANDIN_API const char* rdmagpu_standin_cuda_ledger() {
  const std::lock_guard lock{state().mutex};
  auto& s = state();
  static std::string text;
  text.clear();
  const auto add = [](const char* what, std::size_t count) {
    if(count > 0)
      text += std::to_string(count) + " " + what + "; ";
  };
  add("handles", s.handles.size());
  add("reservations", s.reservations.size());
  add("mappings", s.mappings.size());
  add("allocations", s.plain.size());
  add("streams",
      static_cast<std::size_t>(std::count_if(s.streams.begin(), s.streams.end(),
                                             [](const auto& entry) { return !entry.second.isDefault; })));
  add("events", s.events.size());
  add("registrations", s.registered.size());
  add("modules", s.modules.size());
  add("contexts", rdmagpu::standin::cuda::createdContexts());
  for(const int count : s.retained)
    add("times a primary context", static_cast<std::size_t>(count));
  return text.c_str();
}

/// Whether this thread is in a call, so that what is allocated is allocated by the driver.
RDMAGPU_STANDIN_API int rdmagpu_standin_cuda_is_inside() { return rdmagpu::standin::cuda::callsInside > 0; }

/// The n-th call from now on finds the driver shut down, and so does every later one; 0: it is up again.
RDMAGPU_STANDIN_API void rdmagpu_standin_cuda_shut_down_after(int n) {
  const std::lock_guard lock{state().mutex};
  state().callsUntilShutdown = n;
  state().shutDown = false;
}

/// Whether that has happened.
RDMAGPU_STANDIN_API int rdmagpu_standin_cuda_is_shut_down() {
  const std::lock_guard lock{state().mutex};
  return state().shutDown;
}

/// What GPUs the machine has from now on; an empty name: those that it started with.
RDMAGPU_STANDIN_API void rdmagpu_standin_cuda_profile(const char* name) {
  const std::lock_guard lock{state().mutex};
  state().profile = *name ? &rdmagpu::standin::profileNamed(name)
                          : &rdmagpu::standin::profileAtStart(RDMAGPU_STANDIN_PROFILE);
}

/// Whether something was written to device memory and nobody has waited for it.
RDMAGPU_STANDIN_API int rdmagpu_standin_cuda_unfinished() {
  const std::lock_guard lock{state().mutex};
  int all = state().unfinished;
  for(const auto& [stream, work] : state().streams)
    all += work.unfinished;
  return all;
}

/// For whom a peer's writes were flushed last since rdmagpu_standin_cuda_fail_call: a
/// CUflushGPUDirectRDMAWritesScope; 0: for nobody.
RDMAGPU_STANDIN_API int rdmagpu_standin_cuda_flushed_to() {
  const std::lock_guard lock{state().mutex};
  return state().flushedTo;
}
