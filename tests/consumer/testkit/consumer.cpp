// A test of somebody's own code, run on the software CUDA device that the testkit installs.
#include <rdmagpu/backends.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace {

using rdmagpu::RdmaGpuApi;
using rdmagpu::RdmaGpuBuffer;

constexpr rdmagpu::RdmaGpuBufferConfig config{.api = RdmaGpuApi::Cuda, .slotCount = 4, .frameBytes = 100'000};

template <class Function>
Function* control(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); // the one that the library has loaded
  return driver ? reinterpret_cast<Function*>(dlsym(driver, name)) : nullptr;
}

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

int expectNone() {
  const auto buffer = RdmaGpuBuffer::make(config);
  return buffer && buffer->facts().device.find("software device") != std::string::npos
             ? fail("a software device")
             : 0;
}

} // namespace

int main(int count, char** arguments) {
  if(count > 1 && std::strcmp(arguments[1], "--expect-none") == 0)
    return expectNone();
  {
    const auto buffer = RdmaGpuBuffer::make(config);
    if(!buffer)
      return fail(buffer.error().message().c_str());
    if(buffer->facts().device != "rdmagpu software device (t4)")
      return fail(buffer->facts().device.c_str());
  }
  auto* const ledger = control<const char*()>("rdmagpu_standin_cuda_ledger");
  auto* const failCall = control<void(int)>("rdmagpu_standin_cuda_fail_call");
  auto* const failedCall = control<const char*()>("rdmagpu_standin_cuda_failed_call");
  if(!ledger || !failCall || !failedCall)
    return fail("a control function is missing");
  if(*ledger())
    return fail("something was left over");
  // Every call of the driver fails once.
  for(int n = 1;; ++n) {
    failCall(n);
    const auto buffer = RdmaGpuBuffer::make(config);
    if(!*failedCall())
      return buffer ? 0 : fail("nothing failed, yet there is no buffer");
    if(!buffer && *ledger())
      return fail("something was left over after a failure");
  }
}
