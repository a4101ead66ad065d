// What the kernel itself refuses, through rxe0 of the emulated machine: tests/guest.
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs.hpp>
#include <rdmagpu/verbs_device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace rdmagpu {
namespace {

using testing::HasSubstr;

class VerbsKernel : public testing::Test {
protected:
  void SetUp() override {
    auto opened = VerbsDevice::open("rxe0");
    if(!opened)
      GTEST_SKIP() << "no rxe0: " << opened.error().message();
    m_device = *std::move(opened);
    auto made = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback,
                                     .slotCount = 4,
                                     .frameBytes = 131072,
                                     .host = {.lock = PageLock::Off}});
    ASSERT_TRUE(made) << made.error().message();
    m_buffer = *std::move(made);
  }

  void* address() const { return cpuAddress(m_buffer.handoff(0)); }
  std::size_t bytes() const { return m_buffer.facts().slotStride * 4; }
  Result<VerbsRegistration> tryOn(const VerbsOptions& options = {}) const {
    return VerbsRegistration::make(m_device.domain(), m_buffer, options);
  }
  void expectNotPinnable() const {
    const auto made = tryOn();
    ASSERT_FALSE(made);
    EXPECT_STREQ(made.error().call, "ibv_reg_mr");
    EXPECT_EQ(made.error().code, EFAULT);
    EXPECT_EQ(made.error().kind, Errc::Unsupported);
    EXPECT_STREQ(made.error().finding, "not-pinnable");
    EXPECT_THAT(made.error().hints().front(), HasSubstr("Map the memory readable and writable"));
  }
  static std::pair<int, int> kernel() {
    utsname name{};
    std::pair<int, int> version{};
    uname(&name);
    std::sscanf(name.release, "%d.%d", &version.first, &version.second);
    return version;
  }

  VerbsDevice m_device;
  RdmaGpuBuffer m_buffer;
};

TEST_F(VerbsKernel, PagesThatMayNotBeWrittenAreNotPinnedForWriting) {
  ASSERT_EQ(mprotect(address(), bytes(), PROT_READ), 0);
  expectNotPinnable();
  // Before 6.2 the kernel asks to write shared pages all the same.
  EXPECT_EQ(tryOn({.access = Access::RemoteRead}).has_value(), kernel() >= std::pair(6, 2));
}

TEST_F(VerbsKernel, PagesWithoutAccessAreNotPinned) {
  ASSERT_EQ(mprotect(address(), bytes(), PROT_NONE), 0);
  expectNotPinnable();
}

TEST_F(VerbsKernel, PagesThatAreNotThereAreNotPinned) {
  ASSERT_EQ(munmap(address(), bytes()), 0);
  expectNotPinnable();
  // So that the buffer has what to unmap.
  ASSERT_NE(mmap(address(), bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
}

TEST_F(VerbsKernel, DmaBufIsRefusedAndTheMemoryBehindItIsTaken) {
  const auto made = tryOn({.path = RegistrationPath::DmaBuf});
  ASSERT_FALSE(made);
  if(access("/dev/udmabuf", F_OK) != 0) { // Debian 12's own kernel
    EXPECT_EQ(made.error().code, ENOENT);
    EXPECT_STREQ(made.error().finding, "udmabuf");
  } else {
    EXPECT_STREQ(made.error().call, "ibv_reg_dmabuf_mr");
    EXPECT_EQ(made.error().code, EOPNOTSUPP);
    EXPECT_EQ(made.error().kind, Errc::Unsupported);
    EXPECT_STREQ(made.error().finding, "nic-no-dma-buf");
    EXPECT_THAT(made.error().hints().front(), HasSubstr("Software NICs (rxe, siw)"));
  }
  EXPECT_TRUE(tryOn());
}

TEST_F(VerbsKernel, MappingOfADmaBufIsNotPinnedAndTheMemoryBehindItIs) {
  const auto exported = m_buffer.exportRegion();
  if(access("/dev/udmabuf", F_OK) != 0) {
    EXPECT_FALSE(exported);
    return;
  }
  ASSERT_TRUE(exported) << exported.error().message();
  EXPECT_TRUE(tryOn());
  ASSERT_NE(mmap(address(), bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, exported->fd(), 0),
            MAP_FAILED);
  expectNotPinnable();
}

TEST_F(VerbsKernel, OnDemandPagingIsRefusedAsEachKernelDoes) {
  const auto made = tryOn({.onDemand = true});
  if(kernel().first >= 7) {
    EXPECT_TRUE(made);
    return;
  }
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, kernel() < std::pair(6, 12) ? EINVAL : EOPNOTSUPP);
  EXPECT_EQ(made.error().kind, Errc::Unsupported);
  EXPECT_STREQ(made.error().finding, "on-demand");
  EXPECT_THAT(made.error().hints().front(), HasSubstr("Leave onDemand out"));
}

TEST_F(VerbsKernel, RelaxedOrderingIsTaken) { EXPECT_TRUE(tryOn({.relaxedOrdering = true})); }

// As a user without rights who may lock 256 KiB, of which there are 512.
TEST_F(VerbsKernel, LimitOnLockedMemoryIsToldOrPassedByRoot) {
  const auto made = tryOn();
  if(geteuid() == 0) {
    EXPECT_TRUE(made);
    return;
  }
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().call, "ibv_reg_mr (RLIMIT_MEMLOCK)");
  EXPECT_EQ(made.error().code, ENOMEM);
  EXPECT_EQ(made.error().kind, Errc::OutOfMemory);
  EXPECT_EQ(made.error().bytes, bytes());
  EXPECT_EQ(made.error().available, 262144U);
  EXPECT_THAT(made.error().hints().front(), HasSubstr("memlock unlimited"));
  EXPECT_TRUE(tryOn({.slot = 1})) << "one slot is within the limit";
}

} // namespace
} // namespace rdmagpu
