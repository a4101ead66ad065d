#include "verbs_fixture.hpp"

#include <core/buffer_state.hpp>
#include <core/fake_device.hpp>

#include <cerrno>

namespace rdmagpu::nictest {
namespace {

using testing::HasSubstr;

TEST_F(Verbs, NullDomainIsRefused) {
  const RdmaGpuBuffer buffer = makeBuffer();
  EXPECT_STREQ(refusalOf(buffer, {}, nullptr).codeName, "DomainNull");
}

TEST_F(Verbs, BufferWithoutSlotsIsRefused) {
  EXPECT_STREQ(refusalOf(RdmaGpuBuffer{}).codeName, "BufferEmpty");
}

TEST_F(Verbs, SlotOutOfRangeIsRefusedWithBothFigures) {
  const Error error = refusalOf(makeBuffer(), {.slot = 4});
  EXPECT_STREQ(error.codeName, "SlotOutOfRange");
  EXPECT_EQ(error.bytes, 4U);
  EXPECT_EQ(error.available, 4U);
}

TEST_F(Verbs, RemoteWritesNeedLocalOnes) {
  const RdmaGpuBuffer buffer = makeBuffer();
  for(const Access access :
      {Access::RemoteWrite, Access::RemoteAtomic, Access::RemoteWrite | Access::RemoteRead})
    EXPECT_STREQ(refusalOf(buffer, {.access = access}).codeName, "AccessConflict");
  EXPECT_EQ(calls("ibv_reg_mr_iova2"), 0); // nothing was tried
}

TEST_F(Verbs, AccessBitsThatHaveNoNameAreRefused) {
  EXPECT_STREQ(refusalOf(makeBuffer(), {.access = static_cast<Access>(1 | 32)}).codeName, "AccessConflict");
}

TEST_F(Verbs, IovaThatFitsNoSlotIsRefused) {
  const RdmaGpuBuffer buffer = makeBuffer();
  for(const std::uint64_t iova : {std::uint64_t{4096}, ~std::uint64_t{0xFFFF}})
    EXPECT_STREQ(refusalOf(buffer, {.iova = iova}).codeName, "IovaInvalid");
}

TEST_F(Verbs, MoreThanTheDeviceTakesIsRefusedBeforeItIsTried) {
  Nic nic = mlx5();
  nic.maxMrSize = 2 * stride;
  reset(nic);
  const RdmaGpuBuffer buffer = makeBuffer();
  const Error error = refusalOf(buffer);
  EXPECT_STREQ(error.codeName, "RegistrationTooLarge");
  EXPECT_EQ(error.bytes, 4 * stride);
  EXPECT_EQ(error.available, 2 * stride);
  EXPECT_THAT(error.message(), HasSubstr("asked 524288, available 262144"));
  EXPECT_EQ(calls("ibv_reg_mr_iova2"), 0);
  EXPECT_TRUE(registerOn(buffer, {.slot = 3}).valid()); // as its hint says
}

TEST_F(Verbs, ADeviceThatTellsNoLimitHasNone) {
  Nic nic = mlx5();
  nic.maxMrSize = 0;
  reset(nic);
  EXPECT_TRUE(registerOn(makeBuffer()).valid());
}

TEST_F(Verbs, ADeviceThatIsGoneIsAnError) {
  failNext("ibv_query_device", EIO);
  const Error error = refusalOf(makeBuffer());
  EXPECT_EQ(error.origin, Origin::Verbs);
  EXPECT_STREQ(error.call, "ibv_query_device");
  EXPECT_EQ(error.code, EIO);
}

TEST_F(Verbs, SlotsWithARegionEachAreRegisteredOneByOne) {
  test::FakeDevice device;
  {
    auto state = core::buildOn("make", RdmaGpuApi::Vulkan, device, {.slotCount = 3, .frameBytes = 70'000});
    ASSERT_TRUE(state);
    const RdmaGpuBuffer buffer = core::BufferAccess::make(*std::move(state));
    EXPECT_STREQ(refusalOf(buffer).codeName, "RegionPerSlot");
    std::vector<RegistrationAttempt> attempts;
    const Error error = refusalOf(buffer, {.slot = 1}, domain(), &attempts);
    EXPECT_STREQ(error.codeName, "NotExportable"); // an opaque address is not one for a NIC
    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_EQ(attempts[0].path, RegistrationPath::DmaBuf);
  }
  EXPECT_EQ(device.alive, 0);
}

/// Memory with an address that no NIC understands, exported from `offset` on.
RdmaGpuBuffer opaqueBuffer(test::FakeDevice& device, std::uint64_t offset) {
  device.exportOffset = offset;
  auto state = core::buildOn("make", RdmaGpuApi::Vulkan, device, {.slotCount = 1, .frameBytes = 70'000});
  EXPECT_TRUE(state);
  return core::BufferAccess::make(*std::move(state));
}

TEST_F(Verbs, TheIovaKeepsThePlaceInThePageThatTheDmaBufHas) {
  test::FakeDevice device;
  const RdmaGpuBuffer buffer = opaqueBuffer(device, 512);
  const VerbsRegistration one = registerOn(buffer);
  EXPECT_EQ(one.path(), RegistrationPath::DmaBuf);
  EXPECT_EQ(live()[0].offset, 512U);
  EXPECT_EQ(live()[0].iova % 4096, 512U);
  EXPECT_EQ(one.remoteAddress(0), live()[0].iova);
}

TEST_F(Verbs, AnIovaElsewhereInItsPageIsRefusedBeforeItIsTried) {
  test::FakeDevice device;
  const RdmaGpuBuffer buffer = opaqueBuffer(device, 512);
  EXPECT_STREQ(refusalOf(buffer, {.iova = 65536}).codeName, "IovaApart");
  EXPECT_EQ(calls("ibv_reg_dmabuf_mr"), 0);
}

TEST_F(Verbs, EmptyOneHasNothing) {
  VerbsRegistration none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none.lkey(), 0U);
  EXPECT_EQ(none.rkey(), 0U);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.iova(), 0U);
  EXPECT_EQ(none.native(), nullptr);
  EXPECT_EQ(none.remoteAddress(0), std::nullopt);
  EXPECT_TRUE(none.attempts().empty());
  EXPECT_TRUE(none.deregister());
}

TEST_F(Verbs, EveryPathHasAName) {
  EXPECT_STREQ(name(RegistrationPath::HostPages), "host-pages");
  EXPECT_STREQ(name(RegistrationPath::DmaBuf), "dma-buf");
  EXPECT_STREQ(name(RegistrationPath::DataDirect), "data-direct");
  EXPECT_STREQ(name(RegistrationPath::PeerMemory), "peer-memory");
}

} // namespace
} // namespace rdmagpu::nictest
