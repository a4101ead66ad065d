#include <rdmagpu/backends.hpp>
#include <rdmagpu/compat/score_interop.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <support/sanitizer.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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

TEST(RdmaGpuBuffer, APeerThatThisMachineDoesNotHaveIsRefusedByItsAddress) {
  if(access("/sys/bus/pci/devices", F_OK) != 0)
    GTEST_SKIP() << "the kernel lists no PCI devices here";
  for(const auto api : {RdmaGpuApi::HostFallback, RdmaGpuApi::Auto}) {
    RdmaGpuBufferConfig config = host;
    config.api = api;
    config.peer = PciAddress::parse("fffe:fe:1e.7");
    const auto refused = RdmaGpuBuffer::make(config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Errc::NotFound);
    EXPECT_STREQ(refused.error().codeName, "PeerNotFound");
    EXPECT_EQ(refused.error().pci, config.peer);
    EXPECT_NE(refused.error().message().find("; PCI device fffe:fe:1e.7"), std::string::npos);
    EXPECT_FALSE(refused.error().hints().empty());
  }
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

TEST(RdmaGpuBuffer, LockedMeansWhatTheKernelSays) {
  if(test::sanitized)
    GTEST_SKIP() << "under a sanitizer mlock does nothing and says that it did";
  const auto locked = [] {
    std::FILE* status = std::fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kilobytes = 0;
    while(std::fgets(line, sizeof line, status))
      std::sscanf(line, "VmLck: %lu", &kilobytes);
    std::fclose(status);
    return kilobytes * 1024;
  };
  const auto before = locked();
  const auto buffer = RdmaGpuBuffer::make(host);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(locked() - before, buffer->facts().lockedBytes);
}

TEST(RdmaGpuBuffer, NothingGrowsWithTheSlotCount) {
  if(test::sanitized)
    GTEST_SKIP() << "a sanitizer maps memory of its own for each mapping";
  const auto mappings = [] {
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    int lines = 0;
    for(int c = std::fgetc(maps); c != EOF; c = std::fgetc(maps))
      lines += c == '\n';
    std::fclose(maps);
    return lines;
  };
  RdmaGpuBufferConfig config{.api = RdmaGpuApi::HostFallback, .slotCount = 2000, .frameBytes = 1};
  ASSERT_TRUE(RdmaGpuBuffer::make(config)); // the threads that populate leave stacks to be used again
  const int before = mappings();
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  EXPECT_LE(mappings() - before, 4);
  EXPECT_EQ(buffer->facts().regionCount, 1U);
  EXPECT_EQ(buffer->slotOffset(1999), 1999U * 65536);
}

/// A child that inherits the buffer, uses it and runs its destructor, as one that forgot to exec would.
void inForkedChild(RdmaGpuBuffer& buffer, int expected) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const int seen = *static_cast<unsigned char*>(buffer.slot(1).gpuVA);
    buffer.destroy();
    RdmaGpuBuffer own;
    const bool works = own.create(host) && own.slot(0).gpuVA;
    own.destroy();
    _exit(seen == expected && works ? 0 : 1);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(RdmaGpuBuffer, ForkedChildFreesAndScrubsNothingOfItsParents) {
  RdmaGpuBufferConfig config = host;
  config.scrubOnDestroy = true;
  for(const bool anonymous : {false, true}) {
    config.host.forbidMemfd = anonymous;
    auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer);
    std::memset(buffer->slot(1).gpuVA, 77, 5000);
    inForkedChild(*buffer, 77);
    EXPECT_EQ(*static_cast<unsigned char*>(buffer->slot(1).gpuVA), 77) << "the child wiped the parent's slot";
    // After the fork a write of this process is still a write to the page that a peer has pinned.
    std::memset(buffer->slot(1).gpuVA, 78, 5000);
    inForkedChild(*buffer, 78);
  }
}

TEST(RdmaGpuBuffer, ScrubOverwritesBeforeTheMemoryIsGivenBack) {
  RdmaGpuBufferConfig config = host;
  config.scrubOnDestroy = true;
  auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  auto shared = buffer->share();
  ASSERT_TRUE(shared);
  std::memset(buffer->slot(1).gpuVA, 0x5a, buffer->slot(1).size);
  buffer->destroy();
  std::string left(131072, 'x');
  ASSERT_EQ(pread(shared->fd(), left.data(), left.size(), 0), 131072);
  EXPECT_EQ(left, std::string(131072, '\0'));
}

/// Runs `check` in a child process; true if it returned true.
bool inChild(bool (*check)()) {
  const pid_t child = fork();
  if(child == 0)
    _exit(check() ? 0 : 1);
  int status{};
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(RdmaGpuBuffer, SlotsAreOutOfReachOfTheStandardDescriptors) {
  EXPECT_TRUE(inChild([] {
    for(int fd = 0; fd <= 2; ++fd)
      close(fd);
    const auto buffer = RdmaGpuBuffer::make(host);
    const auto shared = buffer ? buffer->share() : Result<SharedBuffer>{Error{}};
    return buffer && shared && shared->fd() > 2 && write(1, "printed", 7) == -1 && errno == EBADF;
  }));
}

TEST(RdmaGpuBuffer, LimitOnFileSizesLeavesAnonymousSlots) {
  EXPECT_TRUE(inChild([] {
    const rlimit limit{65536, 65536};
    if(setrlimit(RLIMIT_FSIZE, &limit) != 0)
      return false;
    const auto buffer = RdmaGpuBuffer::make(host); // and no SIGXFSZ
    return buffer && !buffer->facts().memfd && buffer->facts().tolerated.size() == 1 &&
           buffer->facts().tolerated.front().codeName == std::string{"EFBIG"};
  }));
}

TEST(DmaBuf, EmptyOneHasNoDescriptor) {
  DmaBuf empty;
  EXPECT_EQ(empty.fd(), -1);
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_EQ(empty.release(), -1);
}

} // namespace
} // namespace rdmagpu
