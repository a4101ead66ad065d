#include <rdmagpu/handoff.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/version.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rdmagpu {
namespace {

/// Every enumerator up to `last` has a name of its own.
template <class Enum>
void expectDistinctNames(Enum last) {
  std::set<std::string> names;
  for(unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    const std::string text = name(static_cast<Enum>(i));
    EXPECT_NE(text, "?") << i;
    EXPECT_TRUE(names.insert(text).second) << text;
  }
}

TEST(Names, AreDistinct) {
  expectDistinctNames(Answer::Yes);
  expectDistinctNames(Agent::Device);
  expectDistinctNames(HandoffKind::DmaBuf);
  expectDistinctNames(MemoryKind::PinnedHost);
  expectDistinctNames(PinnedBy::LevelZero);
  expectDistinctNames(CudaMemory::MemAlloc);
  expectDistinctNames(RdmaGpuApi::PciP2p);
}

TEST(Names, ApiRoundTrips) {
  for(const char* text :
      {"auto", "host", "cuda", "vulkan", "vulkan-dmabuf", "d3d12", "hip", "level-zero", "pci-p2p"}) {
    const auto api = apiNamed(text);
    ASSERT_TRUE(api) << text;
    EXPECT_STREQ(name(*api), text);
  }
  EXPECT_EQ(apiNamed("auto"), RdmaGpuApi::Auto);
  EXPECT_FALSE(apiNamed("none"));
  EXPECT_FALSE(apiNamed("CUDA"));
  EXPECT_FALSE(apiNamed(""));
}

TEST(Names, ScoresApiValuesAreKept) {
  EXPECT_EQ(static_cast<int>(RdmaGpuApi::None), 0);
  EXPECT_EQ(static_cast<int>(RdmaGpuApi::Cuda), 1);
  EXPECT_EQ(static_cast<int>(RdmaGpuApi::Vulkan), 2);
  EXPECT_EQ(static_cast<int>(RdmaGpuApi::D3D12), 3);
  EXPECT_EQ(static_cast<int>(RdmaGpuApi::HostFallback), 4);
  EXPECT_EQ(static_cast<int>(RdmaGpuApi::Auto), 255);
}

TEST(Names, VersionIsThatOfTheHeaders) {
  EXPECT_EQ(version(), std::to_string(RDMAGPU_VERSION_MAJOR) + "." + std::to_string(RDMAGPU_VERSION_MINOR) +
                           "." + std::to_string(RDMAGPU_VERSION_PATCH));
}

TEST(Handoff, KindFollowsTheType) {
  EXPECT_EQ(kind(Handoff{}), HandoffKind::None);
  EXPECT_EQ(kind(HostPointer{}), HandoffKind::HostPointer);
  EXPECT_EQ(kind(CudaPointer{}), HandoffKind::CudaPointer);
  EXPECT_EQ(kind(VulkanRemoteAddress{}), HandoffKind::VulkanRemoteAddress);
  EXPECT_EQ(kind(NvApiRdmaAddress{}), HandoffKind::NvApiRdmaAddress);
  EXPECT_EQ(kind(HipPointer{}), HandoffKind::HipPointer);
  EXPECT_EQ(kind(LevelZeroPointer{}), HandoffKind::LevelZeroPointer);
  EXPECT_EQ(kind(PciMapping{}), HandoffKind::PciMapping);
  EXPECT_EQ(kind(DmaBufOnly{}), HandoffKind::DmaBuf);
}

TEST(Handoff, OnlyWhatTheCpuCanAddressHasACpuAddress) {
  int memory{};
  EXPECT_EQ(cpuAddress(HostPointer{&memory}), &memory);
  EXPECT_EQ(cpuAddress(PciMapping{&memory}), &memory);
  EXPECT_EQ(cpuAddress(VulkanRemoteAddress{&memory}), nullptr);
  EXPECT_EQ(cpuAddress(CudaPointer{0x7f0000000000}), nullptr);
  EXPECT_EQ(cpuAddress(DmaBufOnly{}), nullptr);
  EXPECT_EQ(addressBits(CudaPointer{0x7f0000000000}), 0x7f0000000000U);
  EXPECT_EQ(addressBits(HipPointer{&memory}), reinterpret_cast<std::uintptr_t>(&memory));
  EXPECT_EQ(addressBits(DmaBufOnly{}), 0U);
}

TEST(Handoffs, DefaultIsAnyAddressAndNoDmaBuf) {
  const Handoffs any;
  EXPECT_FALSE(any.contains(HandoffKind::None));
  EXPECT_FALSE(any.contains(HandoffKind::DmaBuf));
  for(unsigned k = static_cast<unsigned>(HandoffKind::HostPointer);
      k < static_cast<unsigned>(HandoffKind::DmaBuf); ++k)
    EXPECT_TRUE(any.contains(static_cast<HandoffKind>(k))) << k;
  const Handoffs two{HandoffKind::CudaPointer, HandoffKind::DmaBuf};
  EXPECT_TRUE(two.contains(HandoffKind::DmaBuf));
  EXPECT_FALSE(two.contains(HandoffKind::HostPointer));
}

} // namespace
} // namespace rdmagpu
