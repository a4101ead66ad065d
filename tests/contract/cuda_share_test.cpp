#include <contract/cuda_driver.hpp>
#include <rdmagpu/inspect.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace rdmagpu::test {
namespace {

constexpr const char* tokenVariable = "RDMAGPU_TEST_TOKEN";

std::array<std::byte, 5000> filled(int value) {
  std::array<std::byte, 5000> bytes{};
  bytes.fill(static_cast<std::byte>(value));
  return bytes;
}

/// What the second process of the tests below does.
TEST(CudaShareChild, SeesTheSlotsAndWritesToThem) {
  const char* token = std::getenv(tokenVariable);
  if(!token)
    GTEST_SKIP() << "started by CudaShare.SecondProcessSeesTheSameSlots";
  const auto buffer = RdmaGpuBuffer::attach(token);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->slotCount(), 4U);
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::Vmm);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::No);
  ASSERT_EQ(buffer->facts().tolerated.size(), 1U);
  EXPECT_STREQ(buffer->facts().tolerated.front().codeName, "NotRdmaCapable");
  EXPECT_EQ(buffer->facts().syncMemops, Answer::No);
  auto bytes = filled(0);
  ASSERT_TRUE(buffer->download(3, bytes));
  EXPECT_EQ(bytes, filled(33));
  ASSERT_TRUE(buffer->upload(0, filled(44)));
  const auto told = inspect(buffer->slot(3).gpuVA, buffer->slot(3).size);
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(told->kind, MemoryKind::GpuVirtual);
  EXPECT_EQ(told->peerUsable, Answer::No);
  EXPECT_NE(told->why.find("shared"), std::string::npos);
}

TEST(CudaShareChild, CannotShareThemAgain) {
  const char* token = std::getenv(tokenVariable);
  if(!token)
    GTEST_SKIP() << "started by CudaShare.AttachedBufferCannotBeSharedAgain";
  const auto buffer = RdmaGpuBuffer::attach(token);
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto shared = buffer->share();
  ASSERT_FALSE(shared);
  EXPECT_STREQ(shared.error().codeName, "NotShareable") << shared.error().message();
}

/// Starts this program anew: a forked child cannot use CUDA.
int runChild(const char* test, const std::string& token) {
  const std::string filter = std::string{"--gtest_filter=CudaShareChild."} + test;
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe"); // as itself, under valgrind too
  const pid_t child = fork();
  if(child == 0) {
    setenv(tokenVariable, token.c_str(), 1);
    execl(program.c_str(), program.c_str(), filter.c_str(), "--gtest_brief=1", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(CudaShare, SecondProcessSeesTheSameSlots) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  ASSERT_TRUE(buffer->upload(3, filled(33)));
  const auto shared = buffer->share();
  ASSERT_TRUE(shared) << shared.error().message();
  const auto token = shared->token();
  ASSERT_TRUE(token);
  EXPECT_EQ(runChild("SeesTheSlotsAndWritesToThem", *token), 0);
  auto back = filled(0);
  ASSERT_TRUE(buffer->download(0, back));
  EXPECT_EQ(back, filled(44));
}

TEST(CudaShare, AttachedBufferCannotBeSharedAgain) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto shared = buffer->share();
  ASSERT_TRUE(shared) << shared.error().message();
  const auto token = shared->token();
  ASSERT_TRUE(token);
  EXPECT_EQ(runChild("CannotShareThemAgain", *token), 0);
}

TEST(CudaShare, DescriptorOfOtherMemoryIsRefused) {
  const auto host =
      RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = 1U << 19});
  ASSERT_TRUE(host);
  auto shared = host->share();
  ASSERT_TRUE(shared);
  auto token = shared->token();
  ASSERT_TRUE(token);
  const std::string hostApi = "api=" + std::to_string(static_cast<int>(RdmaGpuApi::HostFallback));
  const std::string inherited = std::to_string(dup(shared->fd()));
  std::string forged = *token;
  forged.replace(forged.find(hostApi), hostApi.size(), "api=1");
  const std::string fd = "fd=" + std::to_string(shared->fd());
  forged.replace(forged.find(fd), fd.size(), "fd=" + inherited);
  const auto attached = RdmaGpuBuffer::attach(forged);
  ASSERT_FALSE(attached);
  const Error& error = attached.error();
  EXPECT_EQ(error.kind, Errc::InvalidArgument);
  EXPECT_STREQ(error.call, "cuMemImportFromShareableHandle");
  EXPECT_STREQ(error.codeName, "ShareForeign");
  EXPECT_EQ(std::to_string(error.fd), inherited);
  EXPECT_NE(error.message().find("; descriptor " + inherited), std::string::npos) << error.message();
  EXPECT_FALSE(error.hints().empty());
  EXPECT_EQ(fcntl(error.fd, F_GETFD), -1) << "it was closed";
}

TEST(CudaShare, SizeThatIsNotTheMemorysIsRefusedWithIt) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  const std::string region = std::to_string(buffer->facts().committedBytes);
  const auto attachAs = [&](std::uint64_t bytes) {
    const auto shared = buffer->share();
    std::string token = *shared->token();
    const std::string fd = "fd=" + std::to_string(shared->fd());
    token.replace(token.find(fd), fd.size(), "fd=" + std::to_string(dup(shared->fd())));
    token.replace(token.find("region=" + region), std::string::npos, "region=" + std::to_string(bytes));
    const auto attached = RdmaGpuBuffer::attach(token);
    EXPECT_FALSE(attached);
    return attached ? Error{} : attached.error();
  };
  const Error tooLarge = attachAs(2 * buffer->facts().committedBytes);
  EXPECT_EQ(tooLarge.kind, Errc::InvalidArgument);
  EXPECT_STREQ(tooLarge.codeName, "ShareMalformed");
  EXPECT_EQ(tooLarge.bytes, 2 * buffer->facts().committedBytes);
  EXPECT_GE(tooLarge.fd, 0);

  const std::uint64_t slots = 4 * buffer->facts().slotStride;
  const Error tooSmall = attachAs(slots - 65536);
  EXPECT_STREQ(tooSmall.codeName, "ShareMalformed");
  EXPECT_EQ(tooSmall.bytes, slots);
  EXPECT_EQ(tooSmall.available, slots - 65536);
}

class CudaShareOnStandin : public OnCudaStandin {
protected:
  static Result<RdmaGpuBuffer> attachTo(const RdmaGpuBuffer& buffer) {
    const auto shared = buffer.share();
    EXPECT_TRUE(shared) << shared.error().message();
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    EXPECT_TRUE(shared && shared->send(ends[0]));
    auto attached = RdmaGpuBuffer::attach(ends[1]);
    close(ends[0]);
    close(ends[1]);
    return attached;
  }
};

TEST_F(CudaShareOnStandin, MemoryOfOneGpuIsAttachedWhereTheFirstGpuHasNone) {
  for(const char* machine : {"integrated-first", "geforce-first"}) {
    standin->profile(machine);
    auto config = cudaConfig(CudaMemory::Vmm);
    config.gpu.ordinal = 1;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    const auto attached = attachTo(*buffer);
    ASSERT_TRUE(attached) << attached.error().message();
    EXPECT_EQ(attached->facts().pci, PciAddress{.bus = 0x3C});
    ASSERT_TRUE(buffer->upload(1, filled(7)));
    auto seen = filled(0);
    ASSERT_TRUE(attached->download(1, seen));
    EXPECT_EQ(seen, filled(7));
  }
}

TEST_F(CudaShareOnStandin, MemoryThatNoPeerHasToReachIsAttachedWhereNoneCan) {
  standin->profile("geforce");
  auto config = cudaConfig(CudaMemory::Vmm);
  config.rdma = GpuRdma::Off;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto attached = attachTo(*buffer);
  ASSERT_TRUE(attached) << attached.error().message();
  ASSERT_TRUE(buffer->upload(1, filled(7)));
  auto seen = filled(0);
  ASSERT_TRUE(attached->download(1, seen));
  EXPECT_EQ(seen, filled(7));
}

} // namespace
} // namespace rdmagpu::test
