#include <rdmagpu/backends.hpp>
#include <rdmagpu/compat/score_interop.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

namespace rdmagpu {
namespace {

static_assert(!std::is_copy_constructible_v<RdmaGpuBuffer>);
static_assert(std::is_nothrow_move_constructible_v<RdmaGpuBuffer>);
static_assert(std::is_nothrow_move_assignable_v<RdmaGpuBuffer>);
static_assert(std::is_same_v<score::gfx::interop::RdmaGpuBuffer, RdmaGpuBuffer>);
static_assert(std::is_trivially_copyable_v<RdmaGpuSlot>);

const RdmaGpuBufferConfig host{.api = RdmaGpuApi::HostFallback, .slotCount = 2, .frameBytes = 5000};

TEST(RdmaGpuBuffer, EmptyOneAnswersEveryQuestion) {
  RdmaGpuBuffer buffer;
  EXPECT_FALSE(buffer.valid());
  EXPECT_EQ(buffer.backend(), RdmaGpuApi::None);
  EXPECT_EQ(buffer.slotCount(), 0U);
  EXPECT_EQ(buffer.slot(0).gpuVA, nullptr);
  EXPECT_EQ(buffer.slotOffset(0), 0U);
  EXPECT_EQ(kind(buffer.handoff(0)), HandoffKind::None);
  EXPECT_EQ(buffer.facts().committedBytes, 0U);
  EXPECT_EQ(buffer.proof().allocated, Answer::Unknown);
  EXPECT_TRUE(buffer.selection().empty());
  EXPECT_EQ(buffer.keepAlive(0), nullptr);
  EXPECT_EQ(buffer.error().kind, Errc::None);
  EXPECT_STREQ(buffer.exportRegion().error().codeName, "BufferEmpty");
  EXPECT_STREQ(buffer.exportSlot(0).error().codeName, "BufferEmpty");
  EXPECT_STREQ(buffer.upload(0, {}).error().codeName, "BufferEmpty");
  EXPECT_STREQ(buffer.download(0, {}).error().codeName, "BufferEmpty");
  EXPECT_STREQ(buffer.flushPeerWrites().error().codeName, "BufferEmpty");
  EXPECT_STREQ(buffer.share().error().codeName, "BufferEmpty");
  buffer.destroy();
}

TEST(RdmaGpuBuffer, AValueThatItsTypeDoesNotNameIsRefused) {
  const auto expectRefused = [](const char* field, auto change) {
    for(const RdmaGpuApi api : {RdmaGpuApi::HostFallback, RdmaGpuApi::Auto}) {
      RdmaGpuBufferConfig config = host;
      config.api = api;
      change(config);
      const Error error = RdmaGpuBuffer::make(config).error();
      EXPECT_EQ(error.kind, Errc::InvalidArgument) << field;
      EXPECT_STREQ(error.codeName, "ValueUnknown") << field;
      EXPECT_STREQ(error.call, field);
      EXPECT_EQ(error.bytes, 9U);
      EXPECT_STREQ(RdmaGpuBuffer::maxSlots(config).error().codeName, "ValueUnknown") << field;
    }
  };
  expectRefused("RdmaGpuBufferConfig::api", [](auto& c) { c.api = RdmaGpuApi{9}; });
  expectRefused("RdmaGpuBufferConfig::cudaMemory", [](auto& c) { c.cudaMemory = CudaMemory{9}; });
  expectRefused("RdmaGpuBufferConfig::pcieMapping", [](auto& c) { c.pcieMapping = PcieMapping{9}; });
  expectRefused("RdmaGpuBufferConfig::rdma", [](auto& c) { c.rdma = GpuRdma{9}; });
  expectRefused("HostMemory::lock", [](auto& c) { c.host.lock = PageLock{9}; });
  expectRefused("HostMemory::hugePages", [](auto& c) { c.host.hugePages = HugePages{9}; });
  expectRefused("HostMemory::gpuPin", [](auto& c) { c.host.gpuPin = GpuPin{9}; });
}

TEST(RdmaGpuBuffer, UnnamedAndAbsentBackendsAreRefused) {
  RdmaGpuBufferConfig config = host;
  config.api = RdmaGpuApi::None;
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "ApiNone");
  for(const auto api : {RdmaGpuApi::Cuda, RdmaGpuApi::Vulkan, RdmaGpuApi::D3D12, RdmaGpuApi::Hip,
                        RdmaGpuApi::LevelZero, RdmaGpuApi::VulkanDmaBuf, RdmaGpuApi::PciP2p}) {
    config.api = api;
    bool listed = false;
    for(const BackendInfo& backend : backends())
      listed = listed || backend.api == api;
    if(listed)
      continue;
    const auto refused = RdmaGpuBuffer::make(config);
    ASSERT_FALSE(refused) << name(api);
    EXPECT_STREQ(refused.error().codeName, "BackendAbsent");
    EXPECT_EQ(refused.error().kind, Errc::Unsupported);
    EXPECT_FALSE(refused.error().hints().empty());
    EXPECT_STREQ(RdmaGpuBuffer::maxSlots(config).error().codeName, "BackendAbsent");
  }
}

TEST(RdmaGpuBuffer, AutoTakesWhatThePeerAccepts) {
  RdmaGpuBufferConfig config = host;
  config.api = RdmaGpuApi::Auto;
  config.accepts = {HandoffKind::HostPointer};
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
  for(const Rejected& rejected : buffer->selection())
    EXPECT_NE(rejected.error.kind, Errc::None);
}

TEST(RdmaGpuBuffer, AutoWithoutAFittingHandoffSaysSo) {
  RdmaGpuBufferConfig config = host;
  config.api = RdmaGpuApi::Auto;
  config.accepts = {HandoffKind::None};
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "NoBackendFits");
  EXPECT_STREQ(RdmaGpuBuffer::maxSlots(config).error().codeName, "NoBackendFits");
}

TEST(RdmaGpuBuffer, AutoReportsABadRequestAsSuch) {
  RdmaGpuBufferConfig config = host;
  config.api = RdmaGpuApi::Auto;
  config.slotCount = 0;
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "SlotCountZero");
}

TEST(RdmaGpuBuffer, HostFactsTellResidentLockedAndPinnedApart) {
  const auto buffer = RdmaGpuBuffer::make(host);
  ASSERT_TRUE(buffer);
  const BufferFacts& facts = buffer->facts();
  EXPECT_EQ(facts.slotStride, 65536U);
  EXPECT_EQ(facts.requestedBytes, 10'000U);
  EXPECT_EQ(facts.committedBytes, 131072U);
  EXPECT_EQ(facts.residentBytes, facts.committedBytes);
  EXPECT_EQ(facts.pinnedBy, PinnedBy::Nobody);
  EXPECT_EQ(facts.syncMemops, Answer::Unknown);
  EXPECT_EQ(facts.syncMemopsError.kind, Errc::None);
  EXPECT_EQ(facts.rdmaCapable, Answer::Unknown) << "no driver was asked";
  EXPECT_EQ(facts.hugePageBytes, 0U);
  EXPECT_EQ(facts.regionCount, 1U);
  if(facts.lockError.kind == Errc::None)
    EXPECT_EQ(facts.lockedBytes, facts.committedBytes);
  else
    EXPECT_EQ(facts.lockedBytes, 0U);
}

TEST(DmaBuf, EmptyOneHasNoDescriptor) {
  DmaBuf empty;
  EXPECT_EQ(empty.fd(), -1);
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_EQ(empty.release(), -1);
}

} // namespace
} // namespace rdmagpu
