// What Windows has to say of a buffer: kinds of memory, handles, a second process.
#include <rdmagpu/doctor.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <windows.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace rdmagpu {
namespace {

const RdmaGpuBufferConfig host{.api = RdmaGpuApi::HostFallback, .slotCount = 2, .frameBytes = 5000};
constexpr const char* tokenVariable = "RDMAGPU_TEST_TOKEN";

DWORD typeOf(const void* address) {
  MEMORY_BASIC_INFORMATION told{};
  EXPECT_NE(VirtualQuery(address, &told, sizeof told), 0U);
  return told.Type;
}

DWORD handles() {
  DWORD count{};
  EXPECT_TRUE(GetProcessHandleCount(GetCurrentProcess(), &count));
  return count;
}

TEST(WindowsBuffer, LiesInASectionUnlessThatIsForbidden) {
  RdmaGpuBufferConfig config = host;
  for(const bool anonymous : {false, true}) {
    config.host.forbidMemfd = anonymous;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(typeOf(buffer->slot(0).gpuVA), anonymous ? DWORD{MEM_PRIVATE} : DWORD{MEM_MAPPED});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->slot(0).gpuVA) % 65536, 0U); // to look at its rest
    EXPECT_EQ(buffer->facts().memfd, !anonymous);
    EXPECT_EQ(buffer->facts().residentBytes, 131072U);
  }
}

TEST(WindowsBuffer, IsLockedBeyondTheWorkingSetThatAProcessStartsWith) {
  RdmaGpuBufferConfig config{.api = RdmaGpuApi::HostFallback, .slotCount = 8, .frameBytes = 8'294'400};
  config.host.lock = PageLock::Require;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().lockedBytes, buffer->facts().committedBytes);
}

TEST(WindowsBuffer, LargePagesNeedARightAndAreTriedOrRequired) {
  RdmaGpuBufferConfig config = host;
  config.host.hugePages = HugePages::Require;
  const auto required = RdmaGpuBuffer::make(config);
  if(required)
    GTEST_SKIP() << "this account may lock pages in memory, and has got large ones";
  EXPECT_EQ(required.error().origin, Origin::Os);
  EXPECT_STRNE(required.error().codeName, "") << required.error().message();
  config.host.hugePages = HugePages::Try;
  const auto tried = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(tried);
  EXPECT_EQ(tried->facts().hugePageBytes, 0U);
  ASSERT_FALSE(tried->facts().tolerated.empty());
  EXPECT_STREQ(tried->facts().tolerated.front().call, required.error().call);
}

TEST(WindowsBuffer, NodeMustBeOneThatTheMachineHas) {
  RdmaGpuBufferConfig config = host;
  config.host.numaNode = 0;
  EXPECT_TRUE(RdmaGpuBuffer::make(config));
  for(const int absent : {63, -2}) {
    config.host.numaNode = absent;
    EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "NodeOutOfRange") << absent;
  }
}

TEST(WindowsBuffer, MoreThanThereIsIsRefusedWithTheNumbers) {
  const auto refused = RdmaGpuBuffer::make(
      {.api = RdmaGpuApi::HostFallback, .slotCount = 1000, .frameBytes = std::size_t{1} << 36});
  EXPECT_EQ(refused.error().kind, Errc::OutOfMemory);
  EXPECT_GT(refused.error().available, 0U);
}

TEST(WindowsBuffer, HasNoDmaBufsAndNoDescriptorsToSend) {
  const auto buffer = RdmaGpuBuffer::make(host);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->exportRegion().error().kind, Errc::Unsupported);
  EXPECT_STREQ(buffer->exportSlot(0).error().codeName, "PlatformLacks");
  const auto shared = buffer->share();
  ASSERT_TRUE(shared);
  EXPECT_STREQ(shared->send(0).error().codeName, "PlatformLacks");
  EXPECT_STREQ(RdmaGpuBuffer::attach(0).error().codeName, "PlatformLacks");
}

TEST(WindowsBuffer, GivesItsHandlesBack) {
  const auto once = [] {
    auto buffer = RdmaGpuBuffer::make(host);
    EXPECT_TRUE(buffer && buffer->share());
  };
  once(); // what the system makes for the first one stays
  const DWORD before = handles();
  for(int i = 0; i < 20; ++i)
    once();
  EXPECT_EQ(handles(), before);
}

TEST(WindowsBuffer, SecondProcessSeesTheSameSlots) {
  const auto buffer = RdmaGpuBuffer::make(host);
  ASSERT_TRUE(buffer);
  std::memset(buffer->slot(1).gpuVA, 0x21, 5000);
  const auto shared = buffer->share();
  ASSERT_TRUE(shared);
  const auto token = shared->token(); // whose handle is inherited
  ASSERT_TRUE(token);
  ASSERT_TRUE(SetEnvironmentVariableA(tokenVariable, token->c_str()));
  char self[MAX_PATH]{};
  ASSERT_NE(GetModuleFileNameA(nullptr, self, MAX_PATH), 0U);
  std::string command = "\"" + std::string{self} + "\" --gtest_filter=WindowsBufferChild.*";
  STARTUPINFOA start{};
  start.cb = sizeof start;
  PROCESS_INFORMATION child{};
  ASSERT_TRUE(
      CreateProcessA(nullptr, command.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &start, &child));
  WaitForSingleObject(child.hProcess, INFINITE);
  DWORD status{1};
  GetExitCodeProcess(child.hProcess, &status);
  CloseHandle(child.hThread);
  CloseHandle(child.hProcess);
  SetEnvironmentVariableA(tokenVariable, nullptr);
  EXPECT_EQ(status, 0U);
  EXPECT_EQ(*static_cast<unsigned char*>(buffer->slot(0).gpuVA), 0x22) << "what the other process wrote";
}

TEST(WindowsBufferChild, SeesTheSlotsAndWritesToThem) {
  std::vector<char> token(1024);
  if(GetEnvironmentVariableA(tokenVariable, token.data(), static_cast<DWORD>(token.size())) == 0)
    GTEST_SKIP() << "started by WindowsBuffer.SecondProcessSeesTheSameSlots";
  auto buffer = RdmaGpuBuffer::attach(std::string_view{token.data()});
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(*static_cast<unsigned char*>(buffer->slot(1).gpuVA), 0x21);
  std::memset(buffer->slot(0).gpuVA, 0x22, 5000);
}

TEST(WindowsBuffer, TokenOfANumberThatIsNoSectionIsRefused) {
  const auto buffer = RdmaGpuBuffer::make(host);
  ASSERT_TRUE(buffer);
  auto token = buffer->share()->token();
  ASSERT_TRUE(token);
  const std::size_t at = token->find(",fd=") + 4;
  token->replace(at, token->find(',', at) - at, "65532");
  EXPECT_FALSE(RdmaGpuBuffer::attach(std::string_view{*token}));
}

TEST(WindowsInspect, TellsSectionsFromPrivateMemory) {
  RdmaGpuBufferConfig config = host;
  const auto section = RdmaGpuBuffer::make(config);
  config.host.forbidMemfd = true;
  const auto anonymous = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(section && anonymous);
  const auto shared = inspect(section->slot(0).gpuVA, 5000);
  ASSERT_TRUE(shared) << shared.error().message();
  EXPECT_EQ(shared->kind, MemoryKind::SharedAnonymous);
  EXPECT_EQ(shared->peerUsable, Answer::Yes);
  const auto own = inspect(anonymous->slot(0).gpuVA, 5000);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->kind, MemoryKind::Private);
  EXPECT_FALSE(own->copiedOnFork) << "there is no fork";
  EXPECT_EQ(own->residentBytes, 8192U);
  void* const reserved = VirtualAlloc(nullptr, 65536, MEM_RESERVE, PAGE_NOACCESS);
  const auto none = inspect(reserved, 65536);
  ASSERT_FALSE(none);
  EXPECT_STREQ(none.error().codeName, "NotMapped");
  VirtualFree(reserved, 0, MEM_RELEASE);
}

TEST(WindowsDoctor, SaysThatItExaminesLinux) {
  const auto report = diagnose();
  ASSERT_FALSE(report);
  EXPECT_STREQ(report.error().codeName, "PlatformLacks");
  EXPECT_FALSE(report.error().hints().empty());
}

} // namespace
} // namespace rdmagpu
