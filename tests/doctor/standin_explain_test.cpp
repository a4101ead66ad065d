// With the software device of CUDA: whatever it answers with, explain() knows it.
#include <rdmagpu/doctor.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace rdmagpu {
namespace {

/// A function of the stand-in's, which must be loaded.
template <class Function>
Function* control(const char* symbol) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver ? reinterpret_cast<Function*>(dlsym(driver, symbol)) : nullptr; // as dlsym(3) says
}

Error makeAndExport() {
  const auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::Cuda, .slotCount = 2, .frameBytes = 65536});
  if(!buffer)
    return buffer.error();
  const auto exported = buffer->exportRegion();
  return exported ? Error{} : exported.error();
}

void expectKnown(const Error& error) {
  const std::string said = std::string{error.call} + " " + error.codeName;
  for(const std::string& text : {said, error.message()}) {
    const auto found = explain(text);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->empty()) << text;
  }
}

TEST(ExplainStandin, EveryCallThatFails) {
  auto* failCall = control<void(int)>("rdmagpu_standin_cuda_fail_call");
  auto* failedCall = control<const char*()>("rdmagpu_standin_cuda_failed_call");
  ASSERT_TRUE(failCall && failedCall);
  int failures = 0;
  for(int n = 1; n < 500; ++n) {
    failCall(n);
    const Error error = makeAndExport();
    const bool reached = !std::string_view{failedCall()}.empty();
    failCall(0);
    if(!reached)
      break;
    if(error.kind == Errc::None)
      continue;
    ++failures;
    expectKnown(error);
  }
  EXPECT_GT(failures, 3);
}

TEST(ExplainStandin, EveryCodeOfEachCall) {
  auto* failNamed = control<void(const char*, unsigned)>("rdmagpu_standin_cuda_fail_named");
  ASSERT_TRUE(failNamed);
  for(const char* call : {"cuMemCreate", "cuMemGetHandleForAddressRange"}) {
    for(unsigned status = 1; status < 1000; ++status) {
      failNamed(call, status);
      const Error error = makeAndExport();
      failNamed("", 0);
      if(error.kind != Errc::None)
        expectKnown(error);
    }
  }
}

} // namespace
} // namespace rdmagpu
