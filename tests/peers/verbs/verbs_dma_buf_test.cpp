// Registration of dma-bufs by the kernel, through an rxe that takes them: tests/guest/rxe. librxe knows
// nothing of them, so that here the call goes to the kernel past it.
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs.hpp>
#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_loopback.hpp>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <gtest/gtest.h>

#include <dirent.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

/// What ibv_dereg_mr() of rdma-core expects behind an ibv_mr.
struct Region {
  ibv_mr mr;
  int type;
  int access;
  std::uint64_t spare[8];
};
constexpr int dmaBufRegion = 3; // IBV_MR_TYPE_DMABUF_MR

/// A header, and attributes behind it.
class Command {
public:
  ib_uverbs_ioctl_hdr& header() {
    return *reinterpret_cast<ib_uverbs_ioctl_hdr*>(m_bytes);
  } // it ends in an array
  ib_uverbs_attr& attribute(std::size_t i) { return header().attrs[i]; }
  void add(int id, std::size_t bytes, std::uint64_t data) {
    ib_uverbs_attr& added = attribute(header().num_attrs++);
    added.attr_id = static_cast<std::uint16_t>(id);
    added.len = static_cast<std::uint16_t>(bytes);
    added.flags = UVERBS_ATTR_F_MANDATORY;
    added.data = data;
    header().length =
        static_cast<std::uint16_t>(sizeof(ib_uverbs_ioctl_hdr) + header().num_attrs * sizeof added);
  }

private:
  static constexpr std::size_t most = 9;
  alignas(
      ib_uverbs_ioctl_hdr) std::byte m_bytes[sizeof(ib_uverbs_ioctl_hdr) + most * sizeof(ib_uverbs_attr)]{};
};

} // namespace

extern "C" ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                                     int fd, int access) {
  auto* region = static_cast<Region*>(std::calloc(1, sizeof(Region))); // ibv_dereg_mr() calls free()
  if(!region)
    return nullptr;
  Command command{};
  command.header().object_id = UVERBS_OBJECT_MR;
  command.header().method_id = UVERBS_METHOD_REG_DMABUF_MR;
  command.header().driver_id = RDMA_DRIVER_RXE;
  command.add(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
  command.add(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, pd->handle);
  command.add(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, offset);
  command.add(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, bytes);
  command.add(UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, iova);
  command.add(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, static_cast<std::uint32_t>(access));
  command.add(UVERBS_ATTR_REG_DMABUF_MR_FD, 4, static_cast<std::uint32_t>(fd));
  command.add(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4, reinterpret_cast<std::uintptr_t>(&region->mr.lkey));
  command.add(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4, reinterpret_cast<std::uintptr_t>(&region->mr.rkey));
  if(ioctl(pd->context->cmd_fd, RDMA_VERBS_IOCTL, &command.header()) != 0) {
    const int code = errno;
    std::free(region);
    errno = code;
    return nullptr;
  }
  region->mr.context = pd->context;
  region->mr.pd = pd;
  region->mr.length = bytes;
  region->mr.handle = static_cast<std::uint32_t>(command.attribute(0).data);
  region->type = dmaBufRegion;
  region->access = access;
  return &region->mr;
}

namespace rdmagpu {
namespace {

class VerbsDmaBuf : public testing::Test {
protected:
  void SetUp() override {
    auto opened = VerbsDevice::open("rxe0");
    if(!opened)
      GTEST_SKIP() << "no rxe0: " << opened.error().message();
    m_device = *std::move(opened);
    auto made = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = 300'000});
    ASSERT_TRUE(made) << made.error().message();
    m_buffer = *std::move(made);
  }

  void prove(const VerbsOptions& options) const {
    const auto slots = VerbsRegistration::make(m_device.domain(), m_buffer, options);
    ASSERT_TRUE(slots) << slots.error().message();
    EXPECT_EQ(slots->path(), RegistrationPath::DmaBuf);
    auto peer = VerbsLoopback::make(*slots);
    ASSERT_TRUE(peer) << peer.error().message();
    const auto report = verify(m_buffer, *peer);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->write, Answer::Yes);
    EXPECT_EQ(report->read, Answer::Yes);
  }

  VerbsDevice m_device;
  RdmaGpuBuffer m_buffer;
};

std::ptrdiff_t openDescriptors() {
  std::ptrdiff_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while(readdir(folder))
    ++count;
  closedir(folder);
  return count;
}

TEST_F(VerbsDmaBuf, SlotsAreProvenThroughIt) { prove({.path = RegistrationPath::DmaBuf}); }

TEST_F(VerbsDmaBuf, SlotsAreProvenAtAnAddressThatIsChosen) {
  prove({.path = RegistrationPath::DmaBuf, .iova = 0x7000000});
}

TEST_F(VerbsDmaBuf, OneSlotLiesFurtherIntoIt) {
  const auto one =
      VerbsRegistration::make(m_device.domain(), m_buffer, {.slot = 2, .path = RegistrationPath::DmaBuf});
  ASSERT_TRUE(one) << one.error().message();
  auto peer = VerbsLoopback::make(*one);
  ASSERT_TRUE(peer) << peer.error().message();
  std::vector<std::byte> sent(300'000, std::byte{0x5a});
  ASSERT_TRUE(peer->write(2, sent));
  std::vector<std::byte> found(sent.size());
  ASSERT_TRUE(m_buffer.download(2, found));
  EXPECT_EQ(found, sent);
  EXPECT_STREQ(peer->write(1, sent).error().codeName, "SlotOutOfRange");
}

TEST_F(VerbsDmaBuf, OneExportServesAllAndTheMemoryOutlivesTheBuffer) {
  const VerbsOptions options{.path = RegistrationPath::DmaBuf};
  auto first = VerbsRegistration::make(m_device.domain(), m_buffer, options);
  ASSERT_TRUE(first) << first.error().message();
  const auto withOne = openDescriptors();
  auto second = VerbsRegistration::make(m_device.domain(), m_buffer, options);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(openDescriptors(), withOne);
  m_buffer = {};
  EXPECT_TRUE(first->deregister());
  EXPECT_TRUE(second->deregister());
  EXPECT_LT(openDescriptors(), withOne);
}

} // namespace
} // namespace rdmagpu
