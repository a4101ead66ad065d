#include "frames/frame_reader.hpp"

#include "cli/support/frames.hpp"
#include "cli/support/pipe.hpp"
#include "cli/support/signal_guard.hpp"
#include "cli/support/standard_stream.hpp"
#include "cli/support/temp_dir.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;
using test::Pipe;
using test::readAll;
using test::ReplacedStream;
using test::SignalGuard;
using test::TempDir;

FrameOptions frameOf(std::size_t bytes, StopFlag stop = nullptr) {
  return {.pixelFormat = {}, .size = {}, .bytes = bytes, .stop = stop};
}

TEST(OpenFrames, MissingFileSaysWhatTheSystemSaid) {
  const TempDir dir;
  expectError(readAll(dir.path("none.y4m")).error, InputErrorKind::Io,
              dir.path("none.y4m") + ": cannot be opened: No such file or directory");
}

TEST(OpenFrames, DirectoryIsRefused) {
  const TempDir dir;
  expectError(readAll(dir.path()).error, InputErrorKind::Io, ": cannot be read: Is a directory");
}

/// Gives up root's right to read everything, for as long as it lives.
struct Unprivileged {
  Unprivileged() : changed(::geteuid() == 0 && ::seteuid(65534) == 0) {}
  ~Unprivileged() {
    if(changed)
      restored = ::seteuid(0) == 0;
  }
  bool changed;
  bool restored{};
};

TEST(OpenFrames, UnreadableFileSaysWhatTheSystemSaid) {
  const TempDir dir;
  const std::string path = dir.write("secret.y4m", "YUV4MPEG2 W4 H4\n");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  const Unprivileged user;
  if(::geteuid() == 0)
    GTEST_SKIP() << "this process is root and cannot stop being it";
  expectError(readAll(path).error, InputErrorKind::Io, path + ": cannot be opened: Permission denied");
}

TEST(OpenFrames, EmptyFileIsRefused) {
  const TempDir dir;
  expectError(readAll(dir.write("empty.y4m", ""), frameOf(4)).error, InputErrorKind::Empty,
              ": is empty: at least one frame is expected");
}

TEST(OpenFrames, PipeThatClosesAtOnceIsEmpty) {
  Pipe pipe;
  const std::string path = pipe.readPath();
  std::thread closer([&] { pipe.closeWriteEnd(); });
  const auto error = readAll(path, frameOf(4)).error;
  closer.join();
  expectError(error, InputErrorKind::Empty, ": is empty");
}

TEST(OpenFrames, DashIsStandardInput) {
  Pipe pipe;
  pipe.write("YUV4MPEG2 W1 H1 Cmono\nFRAME\nxFRAME\ny");
  pipe.closeWriteEnd();
  const ReplacedStream in(STDIN_FILENO, pipe.readEnd());
  EXPECT_EQ(readAll("-").frames, (std::vector<std::string>{"x", "y"}));
}

TEST(OpenFrames, StandardInputIsNamedInMessages) {
  Pipe pipe;
  pipe.write("YUV4MPEG2 W1 H1\n");
  pipe.closeWriteEnd();
  const ReplacedStream in(STDIN_FILENO, pipe.readEnd());
  expectError(readAll("-").error, InputErrorKind::Empty, "standard input: has a header and no frame");
}

TEST(OpenFrames, FileAsStandardInputBeginsWhereItStands) {
  const TempDir dir;
  const std::string path = dir.write("clip", "skippedabcd");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::lseek(file, 7, SEEK_SET), 7);
  const ReplacedStream in(STDIN_FILENO, file);
  ::close(file);
  const auto reader = openFrames("-", frameOf(2));
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->expectedFrames(), 2U);
  EXPECT_EQ(readAll(**reader).frames, (std::vector<std::string>{"ab", "cd"}));
  ASSERT_TRUE((*reader)->rewind());
  EXPECT_EQ(readAll(**reader).frames, (std::vector<std::string>{"ab", "cd"}));
}

TEST(OpenFrames, ClosedStandardInputSaysWhatTheSystemSaid) {
  const TempDir dir;
  const int file = ::open(dir.path().c_str(), O_RDONLY | O_CLOEXEC);
  const ReplacedStream in(STDIN_FILENO, file);
  ::close(file);
  ::close(STDIN_FILENO);
  expectError(readAll("-").error, InputErrorKind::Io, "standard input: cannot be used: Bad file descriptor");
}

TEST(OpenFrames, FailingReadSaysWhatTheSystemSaid) {
  // Nothing is mapped at address 0, where this file begins.
  expectError(readAll("/proc/self/mem", frameOf(4)).error, InputErrorKind::Io,
              "/proc/self/mem: cannot be read: Input/output error");
}

TEST(OpenFrames, TellsWhichFileItIs) {
  const TempDir dir;
  const std::string path = dir.write("clip", "abcd");
  std::filesystem::create_symlink(path, dir.path("link"));
  const auto one = openFrames(path, frameOf(4));
  const auto same = openFrames(dir.path("link"), frameOf(4));
  const auto other = openFrames(dir.write("other", "abcd"), frameOf(4));
  ASSERT_TRUE(one && same && other);
  EXPECT_EQ((*one)->file(), (*same)->file());
  EXPECT_NE((*one)->file(), (*other)->file());
}

TEST(OpenFrames, PipeIsNoFile) {
  Pipe pipe;
  pipe.write("abcd");
  pipe.closeWriteEnd();
  const auto reader = openFrames(pipe.readPath(), frameOf(4));
  ASSERT_TRUE(reader);
  EXPECT_FALSE((*reader)->file());
}

TEST(FrameReaderStop, SetFlagEndsTheNextRead) {
  const TempDir dir;
  std::atomic<bool> stop{false};
  const auto reader = openFrames(dir.write("clip", std::string(20000, 'x')), frameOf(10000, &stop));
  ASSERT_TRUE(reader);
  stop = true;
  expectError(readAll(**reader).error, InputErrorKind::Interrupted, ": interrupted");
}

TEST(FrameReaderStop, SetFlagEndsOpening) {
  const TempDir dir;
  const std::atomic<bool> stop{true};
  expectError(readAll(dir.write("clip", "abcd"), frameOf(4, &stop)).error, InputErrorKind::Interrupted,
              ": interrupted");
}

TEST(FrameReaderStop, FlagEndsAReadThatWaitsForAPipe) {
  Pipe pipe;
  pipe.write("0123456789");
  std::atomic<bool> stop{false};
  const auto reader = openFrames(pipe.readPath(), frameOf(20, &stop));
  ASSERT_TRUE(reader);
  std::thread interrupter([&] { stop = true; });
  const auto got = readAll(**reader);
  interrupter.join();
  expectError(got.error, InputErrorKind::Interrupted, ": interrupted");
}

TEST(FrameReaderStop, FlagEndsTheWaitForAPipesFirstBytes) {
  Pipe pipe;
  std::atomic<bool> stop{false};
  std::thread interrupter([&] { stop = true; });
  const auto opened = openFrames(pipe.readPath(), frameOf(20, &stop));
  interrupter.join();
  expectError(errorOf(opened), InputErrorKind::Interrupted, ": interrupted");
}

TEST(FrameReaderStop, SignalEndsTheWaitForAFifosOtherEnd) {
  static std::atomic<bool> stop;
  stop = false;
  const SignalGuard guard(SIGUSR1, [](int) { stop = true; });
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  std::atomic<bool> done{false};
  std::optional<InputError> error;
  std::thread reader([&] {
    error = readAll(dir.path("fifo"), frameOf(4, &stop)).error;
    done = true;
  });
  while(!done) { // again and again: the first may come before the wait does
    ::pthread_kill(reader.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  reader.join();
  expectError(error, InputErrorKind::Interrupted, "fifo: interrupted");
}

TEST(FrameReaderStop, SignalsWithoutTheFlagDoNoHarm) {
  static std::atomic<int> signals;
  signals = 0;
  const SignalGuard guard(SIGUSR1, [](int) { ++signals; });
  Pipe pipe;
  pipe.write("0123456789");
  const auto reader = openFrames(pipe.readPath(), frameOf(20));
  ASSERT_TRUE(reader);
  test::ReadBack got;
  std::thread reading([&] { got = readAll(**reader); });
  while(signals < 5) {
    ::pthread_kill(reading.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pipe.write("abcdefghij");
  pipe.closeWriteEnd();
  reading.join();
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, std::vector<std::string>{"0123456789abcdefghij"});
}

TEST(FrameReaderStop, NonBlockingStandardInputIsWaitedFor) {
  Pipe pipe;
  ASSERT_EQ(::fcntl(pipe.readEnd(), F_SETFL, O_NONBLOCK), 0);
  const ReplacedStream in(STDIN_FILENO, pipe.readEnd());
  std::thread writer([&] {
    pipe.write("abcd", 1);
    pipe.closeWriteEnd();
  });
  const auto got = readAll("-", frameOf(4));
  writer.join();
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, std::vector<std::string>{"abcd"});
}

} // namespace
} // namespace rdmagpu::cli
