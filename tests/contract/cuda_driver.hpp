#pragma once
#include <backend/cuda_gpu.hpp>
#include <driver/cuda.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>

namespace rdmagpu::test {

namespace api = driver::cuda;

/// CUDA's driver as a test calls it, beside the library: the same one, whether real or stand-in.
struct CudaDriver {
  static const CudaDriver& instance();

  explicit CudaDriver(SymbolSource&);
  api::Functions functions;
  driver::Fn<"cuCtxSetCurrent", api::Status(api::Context)> ctxSetCurrent{functions.load};
  driver::Fn<"cuCtxCreate_v2", api::Status(api::Context*, unsigned, api::Device)> ctxCreate{functions.load};
  driver::Fn<"cuCtxCreate_v3", api::Status(api::Context*, void*, int, unsigned, api::Device),
             driver::Need::Optional>
      ctxCreateV3{functions.load};
  driver::Fn<"cuCtxCreate_v4", api::Status(api::Context*, void*, unsigned, api::Device),
             driver::Need::Optional>
      ctxCreateV4{functions.load};
  driver::Fn<"cuCtxDestroy_v2", api::Status(api::Context)> ctxDestroy{functions.load};
  driver::Fn<"cuCtxSynchronize", api::Status()> ctxSynchronize{functions.load};
  driver::Fn<"cuDevicePrimaryCtxGetState", api::Status(api::Device, unsigned*, int*)> primaryCtxGetState{
      functions.load};

  // What rdmagpu does not allocate, but looks at.
  driver::Fn<"cuMemAllocAsync", api::Status(api::DevicePtr*, std::size_t, api::Stream)> memAllocAsync{
      functions.load};
  driver::Fn<"cuMemFreeAsync", api::Status(api::DevicePtr, api::Stream)> memFreeAsync{functions.load};
  driver::Fn<"cuMemAllocManaged", api::Status(api::DevicePtr*, std::size_t, unsigned)> memAllocManaged{
      functions.load};

  driver::Fn<"cuMemGetAccess", api::Status(unsigned long long*, const api::Location*, api::DevicePtr)>
      memGetAccess{functions.load};

  int deviceCount() const;
  api::Context current() const;
  bool primaryIsActive(int ordinal = 0) const;
};

/// What the stand-in exports beside the driver's functions.
class CudaStandin {
public:
  /// Null on a real driver.
  static CudaStandin* find();

  explicit CudaStandin(SymbolSource&);
  bool isThere() const noexcept { return m_failCall != nullptr; }

  /// The n-th call from now on. Nothing is known from earlier calls, so that each run makes them all.
  void failCall(int n) {
    backend::cuda::forgetGpus();
    m_failCall(n);
  }
  std::string failedCall() const { return m_failedCall(); }
  void failNamed(const char* name, api::Status status) { m_failNamed(name, static_cast<unsigned>(status)); }
  int calls(const char* name) const { return m_calls(name); }
  std::string ledger() const { return m_ledger(); }
  void profile(const char* name) {
    backend::cuda::forgetGpus();
    m_profile(name);
  }
  int unfinished() const { return m_unfinished(); }
  /// For whom a peer's writes were flushed last since failCall(); 0: for nobody.
  api::FlushScope flushedTo() const { return static_cast<api::FlushScope>(m_flushedTo()); }
  /// The n-th call finds the driver shut down, and so does every later one; 0: it is up again.
  void shutDownAfter(int n) { m_shutDownAfter(n); }
  /// Tells whether this thread is in a call of the stand-in.
  int (*isInside() const)() { return m_isInside; }
  bool isShutDown() const { return m_isShutDown() != 0; }
  /// Events recorded from now on are not ready so many times; a number below 0: until they are waited for.
  void questionsUntilDone(int n) { m_questions(n < 0 ? std::numeric_limits<int>::max() : n); }
  /// Whether kernels that are started from now on run when their stream is waited for, and not before.
  void kernelsWait(bool wait) { m_kernelsWait(wait ? 1 : 0); }
  /// By how many bytes exports from now on are larger than they were asked to be.
  void exportsMore(long bytes) { m_exportsMore(bytes); }

private:
  void (*m_failCall)(int);
  const char* (*m_failedCall)();
  void (*m_failNamed)(const char*, unsigned);
  int (*m_calls)(const char*);
  const char* (*m_ledger)();
  void (*m_profile)(const char*);
  int (*m_unfinished)();
  int (*m_flushedTo)();
  void (*m_shutDownAfter)(int);
  int (*m_isShutDown)();
  void (*m_questions)(int);
  void (*m_kernelsWait)(int);
  int (*m_isInside)();
  void (*m_exportsMore)(long);
};

inline RdmaGpuBufferConfig cudaConfig(CudaMemory memory = CudaMemory::Auto) {
  return {.api = RdmaGpuApi::Cuda, .slotCount = 4, .frameBytes = 100'001, .cudaMemory = memory};
}

/// A device of this machine; any address where it has no PCI bus.
PciAddress somePeer();

/// For tests that need the stand-in: what it counts, and machines that are not there.
class OnCudaStandin : public testing::Test {
protected:
  void SetUp() override {
    standin = CudaStandin::find();
    if(!standin)
      GTEST_SKIP() << "on a real driver calls cannot be made to fail, counted, or answered otherwise";
    ASSERT_EQ(standin->ledger(), "");
    standin->failCall(0);
  }
  void TearDown() override {
    if(!standin)
      return;
    standin->failCall(0);
    standin->failNamed("", api::Status::Success);
    EXPECT_EQ(standin->ledger(), "");
    standin->profile("");
    standin->questionsUntilDone(2);
    standin->kernelsWait(false);
    standin->exportsMore(0);
  }

  CudaStandin* standin{};
};

} // namespace rdmagpu::test
