#include "cufile_fixture.hpp"

#include <contract/cuda_pinned.hpp>
#include <storage/cufile_driver.hpp>
#include <support/log_capture.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>
#include <thread>

namespace rdmagpu::cufiletest {
namespace {

TEST_F(OnCuFile, ReadsAndWritesAnyPartOfASlot) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    const RdmaGpuBuffer buffer = makeBuffer(memory);
    const CuFileRegistration slots = registerSlots(buffer, CuFileUse::Require);
    const KnownFile own{fileBytes};
    const CuFile file = openFile(slots, own.path(), FileAccess::Write);
    EXPECT_EQ(*file.size(), fileBytes);
    expectReadsAreRight(file, buffer, own, StoragePath::Compatibility);
    expectWritesAreRight(file, buffer, own);
    EXPECT_EQ(cuFile.opens(), 1);
  }
}

TEST_F(OnCuFile, RegistersTheRegionOnceForAllFiles) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  const CuFile one = openFile(slots, known.path());
  const CuFile two = openFile(slots, known.path());
  EXPECT_EQ(cuFile.calls("cuFileBufRegister"), 1);
  EXPECT_EQ(cuFile.ledger(), "1 buffers; 2 files; ");
}

TEST_F(OnCuFile, CompatibilityModeIsToldAsStagedWithItsReason) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  const CuFile file = openFile(slots, known.path());
  EXPECT_EQ(slots.facts().version, 1150);
  EXPECT_EQ(slots.facts().nvidiaFsMajor, 0U);
  EXPECT_TRUE(slots.facts().compatAllowed);
  EXPECT_EQ(file.path(), StoragePath::Compatibility);
  EXPECT_EQ(isDirect(file.path()), Answer::No);
  EXPECT_STREQ(file.reason().codeName, "NvidiaFsAbsent");
  EXPECT_FALSE(file.reason().hints().empty());
}

TEST_F(OnCuFile, DirectIsSaidOnlyWhereNothingElseCouldHaveHappened) {
  struct Case {
    const char* profile;
    StoragePath path;
    const char* reason;
  };
  for(const Case& c : {Case{"nvidia-fs-only", StoragePath::Direct, ""},
                       Case{"nvidia-fs", StoragePath::Undecided, "CompatModeAllowed"},
                       Case{"p2p-only", StoragePath::PeerToPeer, ""},
                       Case{"forced", StoragePath::Compatibility, "CompatModeForced"},
                       Case{"neither", StoragePath::HostSlot, "NvidiaFsAbsent"}}) {
    cuFile.profile(c.profile);
    const RdmaGpuBuffer buffer = makeBuffer();
    const CuFileRegistration slots = registerSlots(buffer);
    EXPECT_EQ(slots.path(), c.path) << c.profile;
    EXPECT_STREQ(slots.reason().codeName, c.reason) << c.profile;
    const CuFile file = openFile(slots, known.path());
    const auto moved = file.read(0, 4096, 0);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->path, c.path) << c.profile;
  }
  EXPECT_EQ(isDirect(StoragePath::Undecided), Answer::Unknown);
  EXPECT_EQ(isDirect(StoragePath::PeerToPeer), Answer::Yes);
}

TEST_F(OnCuFile, PathsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for(int p = 0; p <= static_cast<int>(StoragePath::PageCache); ++p)
    names.insert(name(static_cast<StoragePath>(p)));
  EXPECT_EQ(names.size(), 6U);
}

TEST_F(OnCuFile, FileThatIsRefusedGoesThroughAHostSlotAndSaysSo) {
  cuFile.takes(CuFileStandin::None);
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  const CuFile file = openFile(slots, known.path(), FileAccess::Write);
  EXPECT_EQ(slots.path(), StoragePath::Compatibility);
  EXPECT_EQ(file.path(), StoragePath::HostSlot);
  EXPECT_STREQ(file.reason().call, "cuFileHandleRegister");
  EXPECT_EQ(file.reason().code, 5027);
  EXPECT_STREQ(file.reason().finding, "file-system");
  expectReadsAreRight(file, buffer, known, StoragePath::HostSlot);
  expectWritesAreRight(file, buffer, known);
}

TEST_F(OnCuFile, WithoutCuFileTheSameProgramWorks) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer, CuFileUse::Off);
  EXPECT_EQ(slots.reason().kind, Errc::None);
  const CuFile file = openFile(slots, known.path(), FileAccess::Write);
  expectReadsAreRight(file, buffer, known, StoragePath::HostSlot);
  expectWritesAreRight(file, buffer, known);
  EXPECT_EQ(cuFile.calls("cuFileBufRegister"), 0);
}

TEST_F(OnCuFile, RequiredItIsRefusedAndNotReplaced) {
  const RdmaGpuBuffer buffer = makeBuffer();
  cuFile.failNamed("cuFileBufRegister", 5036);
  const auto refused = CuFileRegistration::make(buffer, {.use = CuFileUse::Require});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::OutOfMemory);
  EXPECT_STREQ(refused.error().codeName, "CU_FILE_GPU_MEMORY_PINNING_FAILED");
  cuFile.failNamed("", 0);
  cuFile.takes(CuFileStandin::None);
  const CuFileRegistration slots = registerSlots(buffer, CuFileUse::Require);
  const auto file = CuFile::open(slots, known.path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, 5027);
}

TEST_F(OnCuFile, RegionRegisteredTwiceIsTheProgramsMistake) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  const auto again = CuFileRegistration::make(buffer);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, 5023);
  EXPECT_STREQ(again.error().finding, "registered-twice");
}

TEST_F(OnCuFile, CallersContextStaysAsItIs) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const auto& cuda = test::CudaDriver::instance();
  ASSERT_EQ(cuda.current(), nullptr);
  const CuFileRegistration slots = registerSlots(buffer);
  const CuFile file = openFile(slots, known.path());
  ASSERT_TRUE(file.read(0, 4096, 0));
  EXPECT_EQ(cuda.current(), nullptr);
}

TEST_F(OnCuFile, TransfersInPartsAreCompleted) {
  cuFile.most(3000);
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  const CuFile file = openFile(slots, known.path());
  const auto moved = file.read(0, 10'000, 5);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->bytes, 10'000U);
  EXPECT_EQ(cuFile.calls("cuFileRead"), 4);
  expectSame(bytesOf(buffer, 0, 0, 10'000), known.bytes().subspan(5, 10'000));
}

TEST_F(OnCuFile, WhatDoesNotFitIsRefusedBeforeAnythingMoves) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  const CuFile file = openFile(slots, known.path());
  const std::size_t room = buffer.slot(0).size;
  EXPECT_STREQ(file.read(2, 1, 0).error().codeName, "SlotOutOfRange");
  EXPECT_STREQ(file.read(0, room, 0, 1).error().codeName, "RangeOutOfSlot");
  EXPECT_STREQ(file.read(0, 1, 0, room + 1).error().codeName, "RangeOutOfSlot");
  EXPECT_STREQ(file.read(0, 4096, ~std::uint64_t{0}).error().codeName, "FileOffset");
  EXPECT_STREQ(file.write(0, 1, 0).error().codeName, "FileReadOnly");
  EXPECT_STREQ(CuFile{}.read(0, 1, 0).error().codeName, "CuFileDeregistered");
  EXPECT_STREQ(CuFile{}.write(0, 1, 0).error().codeName, "CuFileDeregistered");
  EXPECT_STREQ(CuFile{}.size().error().codeName, "CuFileDeregistered");
  EXPECT_STREQ(CuFileRegistration::make(RdmaGpuBuffer{}).error().codeName, "BufferEmpty");
  EXPECT_STREQ(CuFileRegistration::make(buffer, {.use = static_cast<CuFileUse>(9)}).error().codeName,
               "ValueUnknown");
  EXPECT_STREQ(CuFile::open(CuFileRegistration{}, known.path()).error().codeName, "CuFileDeregistered");
  EXPECT_STREQ(CuFile::open(slots, known.path() + "-absent").error().codeName, "ENOENT");
  EXPECT_STREQ(CuFile::open(slots, known.folder()).error().codeName, "NotBlock");
  EXPECT_STREQ(CuFile::of(slots, -1).error().codeName, "EBADF");
  EXPECT_EQ(cuFile.calls("cuFileRead"), 0);
}

TEST_F(OnCuFile, DescriptorStaysTheCallers) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const CuFileRegistration slots = registerSlots(buffer);
  for(const int flags : {O_RDWR, O_RDWR | O_DIRECT}) {
    const int fd = open(known.path().c_str(), flags | O_CLOEXEC);
    if(fd < 0)
      continue; // a file system without direct I/O
    EXPECT_EQ(lseek(fd, 123, SEEK_SET), 123);
    auto file = std::make_optional(*CuFile::of(slots, fd));
    ASSERT_TRUE(file->read(0, 4096, 0));
    EXPECT_EQ(*file->size(), fileBytes);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 123);
    close(fd);
    const auto moved = file->read(0, 4096, 4096);
    ASSERT_TRUE(moved) << "of a descriptor that its owner has closed";
    expectSame(bytesOf(buffer, 0, 0, 4096), known.bytes().subspan(4096, 4096));
  }
  const int appends = open(known.path().c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  EXPECT_STREQ(CuFile::of(slots, appends).error().codeName, "FileAppends");
  close(appends);
}

TEST_F(OnCuFile, MemoryGoesAfterItWasDeregisteredInEveryOrder) {
  for(const bool staged : {false, true}) {
    cuFile.takes(staged ? CuFileStandin::None : CuFileStandin::All);
    for(const int order : {0, 1, 2, 3, 4, 5}) {
      auto buffer = std::make_optional(makeBuffer());
      auto slots = std::make_optional(registerSlots(*buffer));
      auto file = std::make_optional(openFile(*slots, known.path()));
      for(int step = 0; step < 3; ++step) {
        const int which = (order % 3 + step * (order < 3 ? 1 : 2)) % 3;
        EXPECT_NE(standin->ledger(), "");
        if(which == 0)
          buffer.reset();
        else if(which == 1)
          slots.reset();
        else
          file.reset();
        EXPECT_TRUE(!file || file->read(1, 4096, 0)) << order;
      }
      EXPECT_EQ(cuFile.ledger(), "");
      EXPECT_EQ(standin->ledger(), "");
    }
  }
} // the stand-in sees that memory and descriptors were there to the end

TEST_F(OnCuFile, DeregisterEndsAllFilesAndIsIdempotent) {
  const RdmaGpuBuffer buffer = makeBuffer();
  CuFileRegistration slots = registerSlots(buffer);
  CuFileRegistration moved{std::move(slots)};
  EXPECT_FALSE(slots.valid());
  EXPECT_TRUE(slots.deregister());
  const CuFile file = openFile(moved, known.path());
  EXPECT_TRUE(moved.deregister());
  EXPECT_EQ(cuFile.ledger(), "1 files; ");
  EXPECT_STREQ(file.read(0, 4096, 0).error().codeName, "CuFileDeregistered");
  EXPECT_STREQ(CuFile::open(moved, known.path()).error().codeName, "CuFileDeregistered");
  EXPECT_TRUE(moved.deregister());
  EXPECT_EQ(cuFile.calls("cuFileBufDeregister"), 1);
}

TEST_F(OnCuFile, ThreadsShareFilesOfOneRegistration) {
  for(const bool staged : {false, true}) {
    cuFile.takes(staged ? CuFileStandin::None : CuFileStandin::All);
    const RdmaGpuBuffer buffer = makeBuffer();
    CuFileRegistration slots = registerSlots(buffer);
    const CuFile shared = openFile(slots, known.path());
    constexpr std::size_t part = 65536;
    std::vector<std::thread> threads;
    for(std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const CuFile own = openFile(slots, known.path());
        for(std::size_t i = 0; i < 4; ++i)
          EXPECT_TRUE((i % 2 ? own : shared).read(t % 2, part, (t * 4 + i) * part, (t * 4 + i) * part));
      });
    }
    for(std::thread& thread : threads)
      thread.join();
    for(std::size_t n = 0; n < 16; ++n)
      expectSame(bytesOf(buffer, n / 4 % 2, n * part, part), known.bytes().subspan(n * part, part));
  }
}

TEST_F(OnCuFile, DeregisterWaitsForTransfers) {
  const RdmaGpuBuffer buffer = makeBuffer();
  CuFileRegistration slots = registerSlots(buffer);
  const CuFile file = openFile(slots, known.path());
  std::thread reader{[&] {
    while(file.read(0, 65536, 0)) {
    }
  }};
  EXPECT_TRUE(slots.deregister()); // the stand-in ends the process where a transfer is under way
  reader.join();
  EXPECT_STREQ(file.read(0, 65536, 0).error().codeName, "CuFileDeregistered");
}

TEST_F(OnCuFile, ForkedChildLeavesItAllToItsParent) {
  const RdmaGpuBuffer buffer = makeBuffer();
  auto slots = std::make_optional(registerSlots(buffer));
  auto file = std::make_optional(openFile(*slots, known.path()));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const bool refused = std::string{file->read(0, 4096, 0).error().codeName} == "ForkedChild" &&
                         std::string{CuFile::open(*slots, known.path()).error().codeName} == "ForkedChild" &&
                         slots->deregister();
    file.reset();
    slots.reset(); // the stand-in ends the process at the first call
    _exit(refused ? 0 : 1);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(file->read(0, 4096, 0));
}

/// 0 when the memory was kept and the log told.
int destroyWithAFailure(CuFileStandin& cuFile, RdmaGpuBuffer buffer) {
  test::LogCapture log;
  const std::weak_ptr<const void> memory = buffer.keepAlive(0);
  {
    const auto slots = CuFileRegistration::make(buffer);
    cuFile.failNamed("cuFileBufDeregister", 5030);
  }
  buffer.destroy();
  return (memory.expired() ? 1 : 0) | (log.errors().size() == 1 ? 0 : 2);
}

TEST_F(OnCuFile, MemoryThatCuFileHoldsIsNeverFreed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // what is kept would be a leak here, and a fork has no CUDA
  EXPECT_EXIT(_exit(destroyWithAFailure(cuFile, makeBuffer())), testing::ExitedWithCode(0), "");
}

TEST(CuFileErrors, EachCodeHasANameAKindAndAHint) {
  std::set<std::string> names;
  for(int code = 5001; code <= 5049; ++code) {
    if(code == 5021 || code == 5032)
      continue; // cuFile has none
    const Error error =
        driver::cufile::failureOf("cuFileRead", {static_cast<driver::cufile::OpError>(code), {}});
    EXPECT_EQ(error.origin, Origin::CuFile);
    EXPECT_FALSE(error.hints().empty()) << code;
    EXPECT_TRUE(std::string{error.codeName}.starts_with("CU_FILE_")) << code;
    names.insert(error.codeName);
  }
  EXPECT_EQ(names.size(), 47U);
  const Error cuda = driver::cufile::failureOf(
      "cuFileBufRegister", {driver::cufile::OpError::CudaDriverError, driver::cuda::Status::InvalidContext});
  EXPECT_EQ(cuda.origin, Origin::Cuda);
  EXPECT_STREQ(cuda.codeName, "CUDA_ERROR_INVALID_CONTEXT");
  const Error system = driver::cufile::failureOf("cuFileRead", driver::cufile::Moved{-1}, ENOSPC, 7);
  EXPECT_EQ(system.origin, Origin::Os);
  EXPECT_STREQ(system.codeName, "ENOSPC");
  EXPECT_EQ(system.bytes, 7U);
}

} // namespace
} // namespace rdmagpu::cufiletest
