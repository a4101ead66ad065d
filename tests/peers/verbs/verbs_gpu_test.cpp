#include "verbs_gpu_fixture.hpp"

#include <cerrno>

namespace rdmagpu::nictest {
namespace {

using testing::HasSubstr;

TEST_F(VerbsGpu, DmaBufIsTheFirstChoice) {
  const RdmaGpuBuffer buffer = gpuBuffer(withPeerMemory(mlx5()));
  const VerbsRegistration all = registerOn(buffer);
  EXPECT_EQ(all.path(), RegistrationPath::DmaBuf);
  EXPECT_EQ(live()[0].call, "ibv_reg_dmabuf_mr");
  EXPECT_EQ(live()[0].offset, 0U);
  EXPECT_EQ(live()[0].iova, addressBits(buffer.handoff(0)));
  EXPECT_EQ(live()[0].bytes, 4 * stride);
  EXPECT_EQ(all.remoteAddress(3), addressBits(buffer.handoff(3))); // though the region's own address is none
  EXPECT_EQ(calls("ibv_reg_mr_iova2"), 0);
}

TEST_F(VerbsGpu, OneExportServesEveryNicAndSlotAndNoDescriptorStays) {
  const RdmaGpuBuffer buffer = gpuBuffer();
  const VerbsRegistration first = registerOn(buffer); // exports, which opens the one that the buffer keeps
  const auto next = [] { return dup(0); };
  const int free = next();
  close(free);
  const VerbsRegistration second = registerOn(buffer, {}, otherDomain());
  const VerbsRegistration slot = registerOn(buffer, {.slot = 2});
  const int after = next();
  close(after);
  EXPECT_EQ(after, free);
  ASSERT_EQ(live().size(), 3U);
  EXPECT_EQ(live()[0].dmaBuf, live()[1].dmaBuf);
  EXPECT_EQ(live()[0].dmaBuf, live()[2].dmaBuf);
  EXPECT_EQ(live()[2].offset, 2 * stride);
  EXPECT_EQ(live()[2].bytes, stride);
  EXPECT_EQ(slot.remoteAddress(2), addressBits(buffer.handoff(2)));
  EXPECT_EQ(standin->calls("cuMemGetHandleForAddressRange"), 1);
}

TEST_F(VerbsGpu, TheIovaOfADmaBufCanBeChosen) {
  const RdmaGpuBuffer buffer = gpuBuffer();
  const VerbsRegistration one = registerOn(buffer, {.slot = 1, .iova = 0x7'0000'0000});
  EXPECT_EQ(live()[0].offset, stride);
  EXPECT_EQ(one.remoteAddress(1), 0x7'0000'0000U);
}

TEST_F(VerbsGpu, PeerMemoryIsTakenWhereTheNicTakesNoDmaBuf) {
  for(const int code : {EOPNOTSUPP, EPROTONOSUPPORT, 524}) {
    Nic nic = withPeerMemory(rxe());
    nic.dmaBufErrno = code;
    const RdmaGpuBuffer buffer = gpuBuffer(nic);
    const VerbsRegistration all = registerOn(buffer);
    EXPECT_EQ(all.path(), RegistrationPath::PeerMemory);
    EXPECT_EQ(live()[0].address, addressBits(buffer.handoff(0)));
    ASSERT_EQ(all.attempts().size(), 2U);
    EXPECT_EQ(all.attempts()[0].path, RegistrationPath::DmaBuf);
    EXPECT_EQ(all.attempts()[0].error.code, code);
    EXPECT_FALSE(all.attempts()[0].error.hints().empty());
    EXPECT_EQ(all.attempts()[1].error.kind, Errc::None);
  }
}

TEST_F(VerbsGpu, PeerMemoryIsTakenWhereTheGpuExportsNothing) {
  standin->profile("no-dma-buf");
  const RdmaGpuBuffer buffer = gpuBuffer(withPeerMemory(mlx5()));
  const VerbsRegistration all = registerOn(buffer);
  EXPECT_EQ(all.path(), RegistrationPath::PeerMemory);
  EXPECT_STREQ(all.attempts()[0].error.codeName, "NotExportable");
}

TEST_F(VerbsGpu, SoftwareNicReachesNoGpuAndBothReasonsAreTold) {
  const RdmaGpuBuffer buffer = gpuBuffer(rxe());
  std::vector<RegistrationAttempt> attempts;
  const Error error = refusalOf(buffer, {}, domain(), &attempts);
  EXPECT_EQ(error.code, EFAULT);
  EXPECT_EQ(error.kind, Errc::Unsupported);
  EXPECT_STREQ(error.finding, "peer-memory");
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].error.code, EOPNOTSUPP);
  EXPECT_EQ(attempts[1].error.code, EFAULT);
  const std::string text = describe(attempts);
  EXPECT_THAT(text, HasSubstr("dma-buf: ibv_reg_dmabuf_mr failed: EOPNOTSUPP (95, "));
  EXPECT_THAT(text, HasSubstr("peer-memory: ibv_reg_mr (device pointer) failed: EFAULT (14, "));
}

TEST_F(VerbsGpu, AReasonOtherThanLackOfSupportIsTheOneReturned) {
  const RdmaGpuBuffer buffer = gpuBuffer();
  failNext("ibv_reg_dmabuf_mr", ENOMEM);
  std::vector<RegistrationAttempt> attempts;
  const Error error = refusalOf(buffer, {}, domain(), &attempts);
  EXPECT_STREQ(error.call, "ibv_reg_dmabuf_mr");
  EXPECT_EQ(error.code, ENOMEM);
  EXPECT_EQ(error.bytes, 4 * stride);
  EXPECT_EQ(attempts.size(), 2U);
}

TEST_F(VerbsGpu, APathThatIsAskedForIsTheOnlyOne) {
  const RdmaGpuBuffer buffer = gpuBuffer(withPeerMemory(mlx5()));
  EXPECT_EQ(registerOn(buffer, {.path = RegistrationPath::PeerMemory}).path(), RegistrationPath::PeerMemory);
  reset(withPeerMemory(rxe()));
  EXPECT_EQ(refusalOf(buffer, {.path = RegistrationPath::DmaBuf}).code, EOPNOTSUPP);
  EXPECT_STREQ(refusalOf(buffer, {.path = RegistrationPath::HostPages}).codeName, "NoSuchPath");
}

TEST_F(VerbsGpu, DataDirectIsTriedFirstWhereItIsAskedFor) {
  standin->profile("grace");
  const RdmaGpuBuffer buffer = gpuBuffer(mlx5(), PcieMapping::Require);
  const VerbsRegistration all = registerOn(buffer, {.dataDirect = true});
  EXPECT_EQ(all.path(), RegistrationPath::DataDirect);
  EXPECT_EQ(live()[0].call, "mlx5dv_reg_dmabuf_mr");
  EXPECT_EQ(live()[0].iova, addressBits(buffer.handoff(0)));
}

TEST_F(VerbsGpu, NicWithoutDataDirectIsUsedWithout) {
  Nic nic = mlx5();
  nic.dataDirectErrno = EOPNOTSUPP;
  const RdmaGpuBuffer buffer = gpuBuffer(nic);
  const VerbsRegistration all = registerOn(buffer, {.dataDirect = true});
  EXPECT_EQ(all.path(), RegistrationPath::DmaBuf);
  EXPECT_EQ(all.attempts()[0].error.code, EOPNOTSUPP);
  EXPECT_STREQ(all.attempts()[0].error.finding, "no-data-direct");
  EXPECT_STREQ(refusalOf(buffer, {.path = RegistrationPath::DataDirect}).call, "mlx5dv_reg_dmabuf_mr");
}

TEST_F(VerbsGpu, OnDemandPagingIsForHostPages) {
  EXPECT_STREQ(refusalOf(gpuBuffer(), {.onDemand = true}).codeName, "OnDemandNotHost");
}

TEST_F(VerbsGpu, ForkIsNoMatterOfAGpusMemory) {
  Nic nic = mlx5();
  nic.fork = 0;
  EXPECT_TRUE(registerOn(gpuBuffer(nic), {.fork = ForkPolicy::Require}).valid());
}

TEST_F(VerbsGpu, WhatTheNicsDriverCallsInvalidIsNoFaultOfTheCaller) {
  const RdmaGpuBuffer buffer = gpuBuffer();
  failNext("ibv_reg_dmabuf_mr", EINVAL);
  const Error error = refusalOf(buffer, {.path = RegistrationPath::DmaBuf});
  EXPECT_EQ(error.kind, Errc::Unsupported);
  EXPECT_STREQ(error.finding, "nic-refused");
}

} // namespace
} // namespace rdmagpu::nictest
