#include "verbs_fixture.hpp"

#include <infiniband/verbs.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace rdmagpu::nictest {
namespace {

/// That the NIC in software refuses what the kernel does, with its errnos, as they were read from rxe and
/// siw.
class NicStandin : public Verbs {
protected:
  int pages(void* address, std::size_t bytes, unsigned access, std::uint64_t iova) {
    errno = 0;
    ibv_mr* made = ibv_reg_mr_iova2(domain(), address, bytes, iova, access);
    const int code = errno;
    if(made)
      ibv_dereg_mr(made);
    return made ? 0 : code;
  }
  int pages(std::size_t bytes, unsigned access) {
    return pages(m_memory, bytes, access, reinterpret_cast<std::uintptr_t>(m_memory));
  }
  int dmaBuf(int fd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int access = 1) {
    errno = 0;
    ibv_mr* made = ibv_reg_dmabuf_mr(domain(), offset, bytes, iova, fd, access);
    const int code = errno;
    if(made)
      ibv_dereg_mr(made);
    return made ? 0 : code;
  }
  void SetUp() override {
    Verbs::SetUp();
    m_memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m_fd = memfd_create("dmabuf", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(m_fd, 65536), 0);
  }
  void TearDown() override {
    munmap(m_memory, 65536);
    close(m_fd);
    Verbs::TearDown();
  }

  void* m_memory{};
  int m_fd = -1;
};

TEST_F(NicStandin, PagesAreRefusedAsTheKernelDoes) {
  EXPECT_EQ(pages(65536, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(pages(0, IBV_ACCESS_LOCAL_WRITE), EINVAL);
  EXPECT_EQ(pages(65536, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  EXPECT_EQ(pages(m_memory, 65536, 1, 512), EINVAL);
  EXPECT_EQ(pages(nullptr, 65536, 1, 0), EFAULT);
  EXPECT_EQ(pages(65536, IBV_ACCESS_ON_DEMAND), 0);
  reset(rxe());
  EXPECT_EQ(pages(65536, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  Nic nic = rxe();
  nic.memlock = 32768;
  reset(nic);
  EXPECT_EQ(pages(65536, IBV_ACCESS_LOCAL_WRITE), ENOMEM);
}

TEST_F(NicStandin, DmaBufsAreRefusedAsTheKernelDoes) {
  EXPECT_EQ(dmaBuf(m_fd, 4096, 4096, 0x7000), 0);
  EXPECT_EQ(dmaBuf(m_fd, 0, 65537, 0), EINVAL);
  EXPECT_EQ(dmaBuf(m_fd, 4096, 4096, 512), EINVAL);
  EXPECT_EQ(dmaBuf(m_fd, 0, 4096, 0, IBV_ACCESS_ON_DEMAND), EINVAL);
  EXPECT_EQ(dmaBuf(0, 0, 4096, 0), EINVAL); // no dma-buf
  EXPECT_EQ(dmaBuf(-1, 0, 4096, 0), EBADF);
  reset(rxe());
  EXPECT_EQ(dmaBuf(m_fd, 0, 4096, 0), EOPNOTSUPP);
  EXPECT_EQ(dmaBuf(-1, 0, 4096, 0), EOPNOTSUPP); // support is asked before the descriptor
}

/// Whether it saw that, and none of it is left for TearDown().
bool sawViolation(const char* text) {
  const bool seen = violations().size() == 1 && violations()[0] == text;
  reset();
  return seen;
}

TEST_F(NicStandin, ItSeesMemoryThatGoesBeforeItsRegistration) {
  auto memory = std::make_shared<int>();
  watch(memory);
  ibv_mr* made = ibv_reg_mr_iova2(domain(), m_memory, 4096, reinterpret_cast<std::uintptr_t>(m_memory), 1);
  ASSERT_NE(made, nullptr);
  memory.reset();
  ibv_dereg_mr(made);
  EXPECT_TRUE(sawViolation("deregistered after the memory was freed"));
}

TEST_F(NicStandin, ItSeesPagesThatGoBeforeTheirRegistration) {
  void* pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ibv_mr* made = ibv_reg_mr_iova2(domain(), pages, 4096, reinterpret_cast<std::uintptr_t>(pages), 1);
  ASSERT_NE(made, nullptr);
  munmap(pages, 4096);
  ibv_dereg_mr(made);
  EXPECT_TRUE(sawViolation("deregistered after the pages were unmapped"));
}

TEST_F(NicStandin, ItSeesWhatIsDeregisteredTwice) {
  ibv_mr none{};
  EXPECT_EQ(ibv_dereg_mr(&none), EINVAL);
  EXPECT_TRUE(sawViolation("deregistered what is not registered"));
}

} // namespace
} // namespace rdmagpu::nictest
