#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu {
namespace {

const RdmaGpuBufferConfig host{.api = RdmaGpuApi::HostFallback, .slotCount = 3, .frameBytes = 5000};

class SharedBufferTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()), 0);
    auto made = RdmaGpuBuffer::make(host);
    ASSERT_TRUE(made) << made.error().message();
    buffer = *std::move(made);
  }
  void TearDown() override {
    close(sockets[0]);
    close(sockets[1]);
  }
  std::array<int, 2> sockets{};
  RdmaGpuBuffer buffer;
};

int exitStatus(pid_t child) {
  int status{};
  if(waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return -1;
  return WEXITSTATUS(status);
}

TEST_F(SharedBufferTest, SecondProcessSeesAndWritesTheSameSlots) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    auto attached = RdmaGpuBuffer::attach(sockets[1]);
    if(!attached)
      _exit(2);
    if(attached->slotCount() != 3 || attached->facts().frameBytes != 5000 || !attached->facts().memfd)
      _exit(3);
    if(std::memcmp(attached->slot(2).gpuVA, "from the parent", 15) != 0)
      _exit(4);
    std::memcpy(attached->slot(1).gpuVA, "from the child", 14);
    attached->destroy();
    _exit(0);
  }
  std::memcpy(buffer.slot(2).gpuVA, "from the parent", 15);
  const auto shared = buffer.share();
  ASSERT_TRUE(shared);
  ASSERT_TRUE(shared->send(sockets[0]));
  ASSERT_EQ(exitStatus(child), 0);
  EXPECT_EQ(std::memcmp(buffer.slot(1).gpuVA, "from the child", 14), 0);
}

TEST_F(SharedBufferTest, InheritedDescriptorIsTakenOver) {
  auto shared = buffer.share();
  ASSERT_TRUE(shared);
  std::memcpy(buffer.slot(0).gpuVA, "inherited", 9);
  const auto token = shared->token();
  ASSERT_TRUE(token);
  EXPECT_EQ(token->find(' '), std::string::npos);
  EXPECT_EQ(fcntl(shared->fd(), F_GETFD), 0) << "survives exec";
  const pid_t child = fork(); // exec would keep the descriptor just the same
  ASSERT_GE(child, 0);
  if(child == 0) {
    const auto attached = RdmaGpuBuffer::attach(*token);
    if(!attached)
      _exit(2);
    _exit(std::memcmp(attached->slot(0).gpuVA, "inherited", 9) == 0 &&
                  fcntl(shared->fd(), F_GETFD) == FD_CLOEXEC
              ? 0
              : 3);
  }
  EXPECT_EQ(exitStatus(child), 0);
}

TEST_F(SharedBufferTest, MemoryOutlivesTheBufferOnItsWay) {
  std::memcpy(buffer.slot(0).gpuVA, "still here", 10);
  auto shared = buffer.share();
  ASSERT_TRUE(shared);
  buffer.destroy();
  ASSERT_TRUE(shared->send(sockets[0]));
  *shared = SharedBuffer{};
  EXPECT_EQ(shared->fd(), -1);
  const auto attached = RdmaGpuBuffer::attach(sockets[1]);
  ASSERT_TRUE(attached) << attached.error().message();
  EXPECT_EQ(std::memcmp(attached->slot(0).gpuVA, "still here", 10), 0);
}

TEST_F(SharedBufferTest, AttachedBufferCanBeSharedOn) {
  ASSERT_TRUE(buffer.share()->send(sockets[0]));
  const auto second = RdmaGpuBuffer::attach(sockets[1]);
  ASSERT_TRUE(second);
  ASSERT_TRUE(second->share()->send(sockets[0]));
  const auto third = RdmaGpuBuffer::attach(sockets[1]);
  ASSERT_TRUE(third);
  std::memcpy(buffer.slot(2).gpuVA, "all the way", 11);
  EXPECT_EQ(std::memcmp(third->slot(2).gpuVA, "all the way", 11), 0);
}

TEST_F(SharedBufferTest, NobodyCanShrinkTheMemoryUnderAnother) {
  const auto shared = buffer.share();
  ASSERT_TRUE(shared);
  EXPECT_EQ(ftruncate(shared->fd(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(fcntl(shared->fd(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
}

TEST_F(SharedBufferTest, EmptyOneCannotBeSent) {
  const SharedBuffer empty;
  EXPECT_STREQ(empty.send(sockets[0]).error().codeName, "BufferEmpty");
  EXPECT_STREQ(empty.token().error().codeName, "BufferEmpty");
}

TEST_F(SharedBufferTest, SendingToNobodyIsAnErrorAndNoSignal) {
  close(sockets[1]);
  sockets[1] = -1;
  const auto sent = buffer.share()->send(sockets[0]);
  ASSERT_FALSE(sent);
  EXPECT_STREQ(sent.error().codeName, "EPIPE");
  EXPECT_STREQ(buffer.share()->send(-1).error().codeName, "EBADF");
}

TEST_F(SharedBufferTest, ASenderThatHasClosedTheSocketIsTold) {
  close(sockets[0]);
  sockets[0] = -1;
  const Error ended = RdmaGpuBuffer::attach(sockets[1]).error();
  EXPECT_EQ(ended.kind, Errc::Lost);
  EXPECT_STREQ(ended.codeName, "ShareEnded");
  EXPECT_EQ(ended.message().find("asked"), std::string::npos) << ended.message();
  EXPECT_FALSE(ended.hints().empty());
  EXPECT_STREQ(RdmaGpuBuffer::attach(-1).error().codeName, "EBADF");
}

/// The message that send() sends, to be altered, with the descriptor of a memfd of `bytes`.
class Forgery {
public:
  explicit Forgery(std::size_t bytes, bool sealed = true)
      : m_fd(memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(ftruncate(m_fd, static_cast<off_t>(bytes)), 0);
    if(sealed) {
      EXPECT_EQ(fcntl(m_fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    }
    region = bytes;
  }
  ~Forgery() { close(m_fd); }
  Forgery(Forgery&&) = delete;

  std::array<char, 8> magic{'r', 'd', 'm', 'a', 'g', 'p', 'u', '\n'};
  std::uint32_t version = 1;
  std::uint32_t api = 4;
  std::uint64_t slots = 2;
  std::uint64_t frame = 5000;
  std::uint64_t stride = 65536;
  std::uint64_t region{};
  int copies = 1; ///< Of the descriptor.

  void send(int socket, std::size_t cut = 0) const {
    std::array<char, 48> message{};
    std::memcpy(message.data(), magic.data(), 8);
    std::memcpy(message.data() + 8, &version, 4);
    std::memcpy(message.data() + 12, &api, 4);
    std::memcpy(message.data() + 16, &slots, 8);
    std::memcpy(message.data() + 24, &frame, 8);
    std::memcpy(message.data() + 32, &stride, 8);
    std::memcpy(message.data() + 40, &region, 8);
    iovec part{message.data(), message.size() - cut};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if(copies > 0) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(sizeof(int) * static_cast<std::size_t>(copies));
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int) * static_cast<std::size_t>(copies));
      for(int i = 0; i < copies; ++i)
        std::memcpy(CMSG_DATA(rights) + sizeof(int) * static_cast<std::size_t>(i), &m_fd, sizeof m_fd);
    }
    ASSERT_GT(sendmsg(socket, &header, 0), 0);
  }

private:
  int m_fd;
};

int descriptorCount() {
  int count = 0;
  for(int fd = 0; fd < 256; ++fd)
    count += fcntl(fd, F_GETFD) != -1;
  return count;
}

TEST_F(SharedBufferTest, WellFormedMessageIsAccepted) {
  const Forgery forgery{2 * 65536};
  forgery.send(sockets[0]);
  EXPECT_TRUE(RdmaGpuBuffer::attach(sockets[1]));
}

TEST_F(SharedBufferTest, NothingReceivedIsTrusted) {
  const auto before = descriptorCount();
  const auto expectRefusal = [&](const char* codeName, auto alter) {
    Forgery forgery{2 * 65536};
    alter(forgery);
    forgery.send(sockets[0]);
    const auto refused = RdmaGpuBuffer::attach(sockets[1]);
    ASSERT_FALSE(refused) << codeName;
    EXPECT_STREQ(refused.error().codeName, codeName);
    EXPECT_STREQ(refused.error().call, "RdmaGpuBuffer::attach");
  };
  expectRefusal("ShareMalformed", [](Forgery& f) { f.magic[0] = 'R'; });
  expectRefusal("ShareMalformed", [](Forgery& f) { f.copies = 0; });
  expectRefusal("ShareMalformed", [](Forgery& f) { f.stride = 4096; });
  expectRefusal("ShareMalformed", [](Forgery& f) { f.slots = 3; });
  expectRefusal("ShareVersion", [](Forgery& f) { f.version = 2; });
  expectRefusal("BackendAbsent", [](Forgery& f) { f.api = 255; });
  expectRefusal("BackendAbsent", [](Forgery& f) { f.api = 4 + 256; });
  expectRefusal("SlotCountZero", [](Forgery& f) { f.slots = 0; });
  expectRefusal("SlotCountZero", [](Forgery& f) { f.slots = std::uint64_t{1} << 32U; });
  expectRefusal("FrameBytesZero", [](Forgery& f) { f.frame = 0; });
  expectRefusal("SizeOverflow", [](Forgery& f) { f.frame = ~std::uint64_t{0}; });
  expectRefusal("ShareUnsafe", [](Forgery& f) { f.region = 3 * 65536; });
  EXPECT_EQ(descriptorCount(), before);
}

TEST_F(SharedBufferTest, MemoryThatCouldShrinkIsRefused) {
  const Forgery unsealed{2 * 65536, false};
  unsealed.send(sockets[0]);
  EXPECT_STREQ(RdmaGpuBuffer::attach(sockets[1]).error().codeName, "ShareUnsafe");
}

TEST_F(SharedBufferTest, ShortMessageIsRefused) {
  const Forgery forgery{2 * 65536};
  forgery.send(sockets[0], 1);
  const auto refused = RdmaGpuBuffer::attach(sockets[1]);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "ShareMalformed");
  EXPECT_EQ(refused.error().bytes, 47U);
}

TEST_F(SharedBufferTest, SurplusDescriptorsAreClosed) {
  const auto before = descriptorCount();
  {
    Forgery forgery{2 * 65536};
    forgery.copies = 3;
    forgery.send(sockets[0]);
    EXPECT_TRUE(RdmaGpuBuffer::attach(sockets[1]));
  }
  EXPECT_EQ(descriptorCount(), before);
}

TEST_F(SharedBufferTest, NonsenseTokensAreRefused) {
  for(const char* token :
      {"", "rdmagpu", "rdmagpu:1", "rdmagpu:1,fd=3",
       "rdmagpu:1,fd=x,api=4,slots=1,frame=1,stride=65536,region=65536",
       "rdmagpu:1,fd=99999999999,api=4,slots=1,frame=1,stride=65536,region=65536",
       "rdmagpu:1,fd=-1,api=4,slots=1,frame=1,stride=65536,region=65536",
       "rdmagpu:1,fd=3,api=4,slots=1,frame=1,stride=65536,region=65536,", " rdmagpu:1,fd=3,api=4"}) {
    const auto refused = RdmaGpuBuffer::attach(std::string_view{token});
    ASSERT_FALSE(refused) << token;
    EXPECT_STREQ(refused.error().codeName, "ShareMalformed") << token;
  }
  const auto closed = RdmaGpuBuffer::attach(
      std::string_view{"rdmagpu:1,fd=250,api=4,slots=1,frame=1,stride=65536,region=65536"});
  ASSERT_FALSE(closed);
  EXPECT_STREQ(closed.error().codeName, "EBADF");
}

} // namespace
} // namespace rdmagpu
