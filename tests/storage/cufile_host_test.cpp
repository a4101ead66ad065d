#include <contract/fault.hpp>
#include <contract/os_standin.hpp>
#include <rdmagpu/cufile.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace rdmagpu::cufiletest {
namespace {

/// Host slots: direct I/O on their addresses, and no cuFile.
class CuFileOnHost : public testing::Test {
protected:
  void SetUp() override {
    for(std::size_t i = 0; i < text.size(); ++i)
      text[i] = static_cast<char>(i * 7 + i / 251);
    tree.write("/clip", text);
    os.failCall(0);
    os.clearLedger();
  }
  void TearDown() override { os.failNamed("", 0); }

  static RdmaGpuBuffer makeBuffer() {
    return *RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback,
                                 .slotCount = 2,
                                 .frameBytes = 100'000,
                                 .host = {.lock = PageLock::Off}});
  }
  bool slotHolds(std::size_t slot, std::size_t from, std::size_t bytes, std::size_t at) const {
    return std::memcmp(static_cast<const char*>(buffer.slot(slot).gpuVA) + at, text.data() + from, bytes) ==
           0;
  }
  CuFile openFile(FileAccess access = FileAccess::Read) const {
    return *CuFile::open(*CuFileRegistration::make(buffer), path(), access);
  }
  std::string path() const { return tree.root() + "/clip"; }

  test::OsStandin& os = test::OsStandin::instance();
  test::TempTree tree;
  std::string text = std::string(200'100, '\0');
  RdmaGpuBuffer buffer = makeBuffer();
};

TEST_F(CuFileOnHost, AlignedTransfersAreDirectAndOthersSayThatTheyAreNot) {
  const CuFile file = openFile();
  if(file.path() != StoragePath::Direct)
    GTEST_SKIP() << "no direct I/O here: " << file.reason().message();
  const auto aligned = file.read(1, 65536, 4096, 4096);
  ASSERT_TRUE(aligned) << aligned.error().message();
  EXPECT_EQ(aligned->path, StoragePath::Direct);
  EXPECT_TRUE(slotHolds(1, 4096, 65536, 4096));
  for(const auto& [bytes, from, at] :
      {std::tuple{4097UL, 0UL, 0UL}, std::tuple{4096UL, 1UL, 0UL}, std::tuple{4096UL, 0UL, 1UL}}) {
    const auto other = file.read(0, bytes, from, at);
    ASSERT_TRUE(other) << other.error().message();
    EXPECT_EQ(other->path, StoragePath::PageCache);
    EXPECT_TRUE(slotHolds(0, from, bytes, at));
  }
  const auto end = file.read(0, 8192, 196'608, 0);
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->bytes, 200'100U - 196'608U);
  EXPECT_EQ(end->path, StoragePath::Direct);
}

TEST_F(CuFileOnHost, WithoutDirectIoThePageCacheServesAndTheReasonIsTold) {
  os.failNamed("open O_DIRECT", EINVAL);
  const CuFile file = openFile(FileAccess::Write);
  EXPECT_EQ(file.path(), StoragePath::PageCache);
  EXPECT_STREQ(file.reason().call, "open O_DIRECT");
  EXPECT_STREQ(file.reason().codeName, "EINVAL");
  ASSERT_TRUE(file.read(0, 65536, 4096));
  EXPECT_TRUE(slotHolds(0, 4096, 65536, 0));
  ASSERT_TRUE(file.write(0, 4096, 0));
  const auto back = file.read(1, 4096, 0);
  ASSERT_TRUE(back);
  EXPECT_EQ(std::memcmp(buffer.slot(0).gpuVA, buffer.slot(1).gpuVA, 4096), 0);
}

TEST_F(CuFileOnHost, EveryCallFailsOnce) {
  const auto use = [&]() -> test::Outcome {
    const auto slots = CuFileRegistration::make(buffer);
    if(!slots)
      return {slots.error(), {}};
    const auto file = CuFile::open(*slots, path(), FileAccess::Write);
    if(!file)
      return {file.error(), {}};
    test::Outcome outcome{{}, {file->reason()}};
    for(const std::size_t bytes : {4096UL, 100UL}) {
      if(const auto moved = file->read(0, bytes, 0); !moved)
        outcome.survived.push_back(moved.error());
      if(const auto moved = file->write(0, bytes, 0); !moved)
        outcome.survived.push_back(moved.error());
    }
    if(const auto size = file->size(); !size)
      outcome.survived.push_back(size.error());
    return outcome;
  };
  ASSERT_TRUE(use().result);
  for(int n = 1;; ++n) {
    os.clearLedger();
    os.failCall(n);
    const test::Outcome outcome = use();
    const std::string failed = os.failedCall();
    os.failCall(0);
    ASSERT_EQ(os.ledger(), "") << "left over after failing " << failed;
    if(failed.empty())
      break;
    // The wrapped calls do not know whether they are on the page cache's side.
    const std::string plain = failed.substr(0, failed.find(' '));
    ASSERT_TRUE(failed == "close" || test::shows(failed, outcome) || test::shows(plain, outcome))
        << "swallowed " << failed;
  }
}

} // namespace
} // namespace rdmagpu::cufiletest
