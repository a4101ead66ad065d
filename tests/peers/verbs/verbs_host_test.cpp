#include "verbs_fixture.hpp"

#include <infiniband/verbs.h>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace rdmagpu::nictest {
namespace {

using testing::HasSubstr;

TEST_F(Verbs, AllSlotsHaveOneKey) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration all = registerOn(buffer);
  ASSERT_EQ(live().size(), 1U);
  const Registration& seen = live()[0];
  EXPECT_EQ(seen.address, addressBits(buffer.handoff(0)));
  EXPECT_EQ(seen.iova, seen.address);
  EXPECT_EQ(seen.bytes, 4 * stride);
  EXPECT_EQ(seen.access, unsigned{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(all.path(), RegistrationPath::HostPages);
  EXPECT_EQ(all.lkey(), all.native()->lkey);
  EXPECT_EQ(all.rkey(), all.native()->rkey);
  EXPECT_EQ(all.size(), 4 * stride);
  for(std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(all.remoteAddress(i), addressBits(buffer.handoff(i)));
  EXPECT_EQ(all.remoteAddress(4), std::nullopt);
  ASSERT_EQ(all.attempts().size(), 1U);
  EXPECT_EQ(describe(all.attempts()), "host-pages: registered\n");
}

TEST_F(Verbs, OneSlotReachesNoOther) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration one = registerOn(buffer, {.slot = 2});
  EXPECT_EQ(live()[0].address, addressBits(buffer.handoff(2)));
  EXPECT_EQ(live()[0].bytes, stride);
  EXPECT_EQ(one.remoteAddress(2), addressBits(buffer.handoff(2)));
  EXPECT_EQ(one.remoteAddress(1), std::nullopt);
  EXPECT_EQ(one.remoteAddress(3), std::nullopt);
}

TEST_F(Verbs, TheIovaCanBeChosen) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration all = registerOn(buffer, {.iova = 0});
  EXPECT_EQ(live()[0].address, addressBits(buffer.handoff(0)));
  EXPECT_EQ(all.iova(), 0U);
  EXPECT_EQ(all.remoteAddress(0), 0U);
  EXPECT_EQ(all.remoteAddress(3), 3 * stride);
}

TEST_F(Verbs, RelaxedOrderingAndAccessArePassedOn) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration all =
      registerOn(buffer, {.access = Access::LocalWrite | Access::RemoteAtomic, .relaxedOrdering = true});
  EXPECT_EQ(live()[0].access,
            unsigned{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING});
}

TEST_F(Verbs, HostMemoryNeedsNothingOfTheNicsDmaBufs) {
  reset(rxe());
  const RdmaGpuBuffer buffer = makeBuffer();
  EXPECT_EQ(registerOn(buffer, {.dataDirect = true}).path(), RegistrationPath::HostPages);
}

TEST_F(Verbs, OnDemandPagesNeedNoLimitOnLockedMemory) {
  Nic nic = mlx5();
  nic.memlock = 0;
  reset(nic);
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration all = registerOn(buffer, {.onDemand = true});
  EXPECT_NE(live()[0].access & IBV_ACCESS_ON_DEMAND, 0U);
}

TEST_F(Verbs, NicWithoutOnDemandPagingSaysSo) {
  for(const int code : {EOPNOTSUPP, EINVAL}) { // as 6.12 and 6.1 answer
    Nic nic = rxe();
    nic.onDemandErrno = code;
    reset(nic);
    const Error error = refusalOf(makeBuffer(), {.onDemand = true});
    EXPECT_STREQ(error.call, "ibv_reg_mr (IBV_ACCESS_ON_DEMAND)");
    EXPECT_EQ(error.kind, Errc::Unsupported);
    EXPECT_STREQ(error.finding, "on-demand");
  }
}

TEST_F(Verbs, LimitOnLockedMemoryIsExplained) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit small{65536, before.rlim_max};
  const RdmaGpuBuffer buffer = makeBuffer();
  Nic nic = rxe();
  nic.memlock = small.rlim_cur;
  reset(nic);
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &small), 0);
  const Error error = refusalOf(buffer);
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
  EXPECT_EQ(error.kind, Errc::OutOfMemory);
  EXPECT_EQ(error.code, ENOMEM);
  EXPECT_THAT(error.message(), HasSubstr("ibv_reg_mr (RLIMIT_MEMLOCK) failed: ENOMEM (12, "));
  EXPECT_THAT(error.message(), HasSubstr("asked 524288, available 65536"));
  EXPECT_THAT(error.hints().front(), HasSubstr("memlock unlimited"));
}

TEST_F(Verbs, LackOfMemoryWithinTheLimitIsNotBlamedOnIt) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  if(before.rlim_cur < 16 * stride)
    GTEST_SKIP() << "the limit on locked memory is lower than what this test registers";
  failNext("ibv_reg_mr_iova2", ENOMEM);
  const Error error = refusalOf(makeBuffer());
  EXPECT_STREQ(error.call, "ibv_reg_mr");
  EXPECT_STREQ(error.finding, "registration-memory");
}

TEST_F(Verbs, EveryErrnoIsKeptWithHints) {
  const RdmaGpuBuffer buffer = makeBuffer();
  struct {
    int code;
    Errc kind;
  } const rows[] = {{EFAULT, Errc::Unsupported}, {EINVAL, Errc::Unsupported}, {EPERM, Errc::Permission},
                    {EACCES, Errc::Permission},  {EIO, Errc::Lost},           {ENODEV, Errc::Lost},
                    {ENOSPC, Errc::OutOfMemory}, {EAGAIN, Errc::Busy},        {4000, Errc::Internal}};
  for(const auto& row : rows) {
    failNext("ibv_reg_mr_iova2", row.code);
    std::vector<RegistrationAttempt> attempts;
    const Error error = refusalOf(buffer, {}, domain(), &attempts);
    EXPECT_EQ(error.code, row.code);
    EXPECT_EQ(error.kind, row.kind) << row.code;
    EXPECT_EQ(error.origin, Origin::Verbs);
    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_EQ(attempts[0].error.code, row.code);
    EXPECT_THAT(describe(attempts), HasSubstr("host-pages: ibv_reg_mr failed: "));
  }
}

TEST_F(Verbs, PeerMemoryIsNoPathToHostPages) {
  EXPECT_STREQ(refusalOf(makeBuffer(), {.path = RegistrationPath::PeerMemory}).codeName, "NoSuchPath");
}

TEST_F(Verbs, APathThatHasNoNameIsRefused) {
  EXPECT_STREQ(refusalOf(makeBuffer(), {.path = static_cast<RegistrationPath>(9)}).codeName, "NoSuchPath");
}

TEST_F(Verbs, DmaBufOfPagesThatAreInNoMemfdIsRefused) {
  EXPECT_STREQ(refusalOf(anonymousBuffer(), {.path = RegistrationPath::DmaBuf}).codeName, "NotMemfd");
}

TEST_F(Verbs, SharedMemorySurvivesAForkWithoutSupport) {
  Nic nic = rxe();
  nic.fork = IBV_FORK_DISABLED;
  reset(nic);
  const RdmaGpuBuffer buffer = makeBuffer();
  if(!buffer.facts().memfd)
    GTEST_SKIP() << "the system refused a memfd";
  EXPECT_TRUE(registerOn(buffer, {.fork = ForkPolicy::Require}).valid());
}

TEST_F(Verbs, AnonymousPagesNeedForkSupportWhereThatIsRequired) {
  const RdmaGpuBuffer buffer = anonymousBuffer();
  Nic nic = rxe();
  nic.fork = IBV_FORK_DISABLED;
  reset(nic);
  EXPECT_STREQ(refusalOf(buffer, {.fork = ForkPolicy::Require}).codeName, "ForkUnsafe");
  EXPECT_TRUE(registerOn(buffer).valid());
  for(const int support : {IBV_FORK_ENABLED, IBV_FORK_UNNEEDED}) {
    nic.fork = support;
    reset(nic);
    EXPECT_TRUE(registerOn(buffer, {.fork = ForkPolicy::Require}).valid());
  }
}

} // namespace
} // namespace rdmagpu::nictest
