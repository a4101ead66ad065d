#include <contract/cuda_pinned.hpp>
#include <contract/fault.hpp>
#include <support/log_capture.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace rdmagpu::test {
namespace {

RdmaGpuBufferConfig pinned(GpuPin pin, HostMemory memory = {}) {
  memory.gpuPin = pin;
  return {.api = RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = 100'001, .host = memory};
}

class CudaHostPin : public testing::TestWithParam<bool> {
protected:
  static RdmaGpuBufferConfig config(GpuPin pin = GpuPin::Require) {
    return pinned(pin, {.forbidMemfd = GetParam()});
  }
  const CudaDriver& cuda = CudaDriver::instance();
};

INSTANTIATE_TEST_SUITE_P(Pages, CudaHostPin, testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "Anonymous" : "Memfd"; });

TEST_P(CudaHostPin, FactsSayWhoPinned) {
  for(const GpuPin pin : {GpuPin::Require, GpuPin::Try}) {
    const auto buffer = RdmaGpuBuffer::make(config(pin));
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
    EXPECT_EQ(buffer->facts().pinnedBy, PinnedBy::Cuda);
    EXPECT_EQ(buffer->facts().pinError.kind, Errc::None);
  }
  const auto off = RdmaGpuBuffer::make(config(GpuPin::Off));
  ASSERT_TRUE(off);
  EXPECT_EQ(off->facts().pinnedBy, PinnedBy::Nobody);
  EXPECT_EQ(off->facts().pinError.kind, Errc::None);
}

TEST_P(CudaHostPin, DriverKnowsThePages) {
  const PrimaryOf primary{0};
  const CurrentContext current{primary.get()};
  auto buffer = RdmaGpuBuffer::make(config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  void* const address = buffer->slot(3).gpuVA;
  EXPECT_EQ(cuda.functions.memHostRegister(address, 4096, api::HostRegisterFlags::Portable),
            api::Status::HostMemoryAlreadyRegistered);
}

TEST_P(CudaHostPin, SlotsAreCopiedToAndFromTheGpu) {
  const auto host = RdmaGpuBuffer::make(config());
  const auto gpu = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(host && gpu);
  const std::vector<std::byte> sent(100'001, std::byte{9});
  ASSERT_TRUE(host->upload(0, sent));
  const auto at = [&](std::size_t slot) {
    return std::span{static_cast<std::byte*>(host->slot(slot).gpuVA), sent.size()};
  };
  ASSERT_TRUE(gpu->upload(2, at(0)));
  ASSERT_TRUE(gpu->download(2, at(1)));
  std::vector<std::byte> received(sent.size());
  ASSERT_TRUE(host->download(1, received));
  EXPECT_TRUE(received == sent);
}

TEST_P(CudaHostPin, CurrentContextStaysAndThePrimaryIsGivenBack) {
  {
    const auto buffer = RdmaGpuBuffer::make(config());
    ASSERT_TRUE(buffer);
    EXPECT_EQ(cuda.current(), nullptr);
    EXPECT_TRUE(cuda.primaryIsActive()) << "the pages are registered in it";
  }
  EXPECT_EQ(cuda.current(), nullptr);
  EXPECT_FALSE(cuda.primaryIsActive());
  const PrimaryOf own{0};
  const CurrentContext current{own.get()};
  {
    const auto buffer = RdmaGpuBuffer::make(config());
    ASSERT_TRUE(buffer);
    EXPECT_EQ(cuda.current(), own.get());
  }
  EXPECT_EQ(cuda.current(), own.get());
}

TEST_P(CudaHostPin, ForkedChildUnpinsNothing) {
  auto buffer = RdmaGpuBuffer::make(config());
  ASSERT_TRUE(buffer);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const auto tried = RdmaGpuBuffer::make(config(GpuPin::Try));
    const bool told = tried && std::string_view{tried->facts().pinError.codeName} == "ForkedChild";
    buffer->destroy();
    _exit(told ? 0 : 1);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const PrimaryOf primary{0};
  const CurrentContext current{primary.get()};
  EXPECT_EQ(cuda.functions.memHostRegister(buffer->slot(0).gpuVA, 4096, api::HostRegisterFlags::Portable),
            api::Status::HostMemoryAlreadyRegistered);
}

TEST_P(CudaHostPin, NoSuchGpuIsToldOrRefused) {
  auto wanted = config(GpuPin::Try);
  wanted.cudaDevice = 1000;
  const auto tried = RdmaGpuBuffer::make(wanted);
  ASSERT_TRUE(tried);
  EXPECT_EQ(tried->facts().pinnedBy, PinnedBy::Nobody);
  EXPECT_STREQ(tried->facts().pinError.codeName, "DeviceOutOfRange");
  wanted.host.gpuPin = GpuPin::Require;
  EXPECT_STREQ(RdmaGpuBuffer::make(wanted).error().codeName, "DeviceOutOfRange");
}

class CudaHostPinOnStandin : public OnCudaStandin {
protected:
  static Outcome make(GpuPin pin) {
    const LogCapture log;
    Outcome outcome;
    {
      const auto buffer = RdmaGpuBuffer::make(pinned(pin));
      if(!buffer)
        outcome.result = buffer.error();
      else if(buffer->facts().pinError.kind != Errc::None)
        outcome.survived.push_back(buffer->facts().pinError);
    }
    const auto logged = log.errors();
    outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
    return outcome;
  }
};

TEST_F(CudaHostPinOnStandin, EveryCallFailsOnce) {
  everyCallFailsOnce(*standin, [] { return make(GpuPin::Require); });
  everyCallFailsOnce(*standin, [] {
    const Outcome outcome = make(GpuPin::Try);
    EXPECT_TRUE(outcome.result) << "pinning is only tried";
    return outcome;
  });
}

TEST_F(CudaHostPinOnStandin, RefusalCarriesItsRemedy) {
  standin->failNamed("cuMemHostRegister_v2", api::Status::OutOfMemory);
  const auto buffer = RdmaGpuBuffer::make(pinned(GpuPin::Require));
  ASSERT_FALSE(buffer);
  EXPECT_STREQ(buffer.error().call, "cuMemHostRegister_v2");
  EXPECT_STREQ(buffer.error().finding, "host-pin");
  EXPECT_EQ(buffer.error().bytes, 4U * 131072);
  EXPECT_EQ(buffer.error().device, 0);
  EXPECT_FALSE(buffer.error().hints().empty());
}

TEST_F(CudaHostPinOnStandin, HostMemoryThatIsNotToBePinnedCallsNoDriver) {
  ASSERT_TRUE(RdmaGpuBuffer::make(pinned(GpuPin::Off)));
  EXPECT_EQ(standin->calls("cuInit"), 0);
}

} // namespace
} // namespace rdmagpu::test
