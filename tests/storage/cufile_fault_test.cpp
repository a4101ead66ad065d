#include "cufile_fixture.hpp"

#include <contract/fault.hpp>

#include <optional>

namespace rdmagpu::cufiletest {
namespace {

void survive(test::Outcome& outcome, const Error& error) {
  if(error.kind != Errc::None)
    outcome.survived.push_back(error);
}

/// One whole use. What fails to be deregistered is tried again, as a program would.
test::Outcome useAll(const KnownFile& known, const RdmaGpuBuffer& buffer, CuFileUse use) {
  test::Outcome outcome;
  auto slots = CuFileRegistration::make(buffer, {.use = use});
  if(!slots)
    return {slots.error(), {}};
  survive(outcome, slots->reason());
  {
    const auto file = CuFile::open(*slots, known.path(), FileAccess::Write);
    if(!file)
      return {file.error(), outcome.survived};
    survive(outcome, file->reason());
    if(const auto read = file->read(0, 8192, 0); !read)
      outcome.result = read.error();
    if(const auto written = file->write(0, 8192, 0); outcome.result && !written)
      outcome.result = written.error();
  }
  if(const auto done = slots->deregister(); !done) {
    outcome.survived.push_back(done.error());
    EXPECT_TRUE(slots->valid());
    outcome.result = slots->deregister();
  }
  return outcome;
}

TEST_F(OnCuFile, EveryCallOfCuFileFailsOnce) {
  const RdmaGpuBuffer buffer = makeBuffer();
  ASSERT_TRUE(useAll(known, buffer, CuFileUse::Require).result); // opened once for the process
  for(const CuFileUse use : {CuFileUse::Try, CuFileUse::Require}) {
    for(int n = 1;; ++n) {
      cuFile.failCall(n);
      const test::Outcome outcome = useAll(known, buffer, use);
      const std::string failed = cuFile.failedCall();
      cuFile.failCall(0);
      ASSERT_EQ(cuFile.ledger(), "") << "left over after failing " << failed;
      if(failed.empty()) {
        EXPECT_GT(n, 6);
        ASSERT_TRUE(outcome.result);
        break;
      }
      const bool optional = // absent in older ones, so that their failure is no failure
          failed == "cuFileGetVersion" || failed == "cuFileGetParameterBool";
      ASSERT_TRUE(optional || test::shows(failed, outcome)) << "swallowed a failed " << failed;
    }
  }
}

TEST_F(OnCuFile, EveryCallOfCudaFailsOnce) {
  const std::string before = standin->ledger();
  for(const CuFileUse use : {CuFileUse::Try, CuFileUse::Off}) {
    for(int n = 1;; ++n) {
      std::optional<RdmaGpuBuffer> buffer{makeBuffer()};
      standin->failCall(n);
      const test::Outcome outcome = useAll(known, *buffer, use);
      const std::string failed = standin->failedCall();
      standin->failCall(0);
      buffer.reset();
      ASSERT_EQ(cuFile.ledger(), "") << failed;
      ASSERT_EQ(standin->ledger(), before) << failed;
      if(failed.empty()) {
        ASSERT_TRUE(outcome.result);
        break;
      }
    }
  }
}

TEST_F(OnCuFile, TransferThatFailsSaysWhatWasMovedBefore) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  const CuFile file = openFile(slots, known.path(), FileAccess::Write);
  cuFile.most(4096);
  for(const bool reads : {true, false}) {
    cuFile.failCall(3);
    const auto moved = reads ? file.read(1, 16384, 0) : file.write(1, 16384, 0);
    ASSERT_FALSE(moved);
    EXPECT_STREQ(moved.error().call, reads ? "cuFileRead" : "cuFileWrite");
    EXPECT_EQ(moved.error().code, 5030);
    EXPECT_EQ(moved.error().bytes, 16384U);
    EXPECT_EQ(moved.error().available, 8192U);
    EXPECT_EQ(moved.error().slot, 1);
  }
  cuFile.failNamed("cuFileRead", 4999);
  errno = EIO;
  EXPECT_EQ(file.read(1, 4096, 0).error().origin, Origin::Os);
}

} // namespace
} // namespace rdmagpu::cufiletest
