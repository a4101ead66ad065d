#include "frames/frame_writer.hpp"

#include "cli/support/frames.hpp"
#include "cli/support/pipe.hpp"
#include "cli/support/signal_guard.hpp"
#include "cli/support/standard_stream.hpp"
#include "cli/support/temp_dir.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;
using test::Pipe;
using test::ReplacedStream;
using test::SignalGuard;
using test::TempDir;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

FrameWriter writerTo(const std::string& path) {
  auto writer = FrameWriter::open(path, {}, nullptr);
  EXPECT_TRUE(writer);
  return std::move(*writer);
}

TEST(FrameWriter, WritesFramesBackToBack) {
  const TempDir dir;
  auto writer = writerTo(dir.path("out.raw"));
  ASSERT_TRUE(writer.write(bytes("abcd")));
  ASSERT_TRUE(writer.write(bytes("efgh")));
  EXPECT_EQ(writer.framesWritten(), 2U);
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(dir.read("out.raw"), "abcdefgh");
}

TEST(FrameWriter, EmptiesAFileThatWasThere) {
  const TempDir dir;
  auto writer = writerTo(dir.write("out.raw", "much longer than what comes"));
  ASSERT_TRUE(writer.write(bytes("abcd")));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(dir.read("out.raw"), "abcd");
}

TEST(FrameWriter, WhatIsReadIsWhatIsWritten) {
  const TempDir dir;
  std::string clip(3 * 5000, '\0');
  for(std::size_t i = 0; i < clip.size(); ++i)
    clip[i] = static_cast<char>(i * 7 + i / 256);
  const auto reader = openFrames(dir.write("clip", clip), {.pixelFormat = {}, .size = {}, .bytes = 5000});
  ASSERT_TRUE(reader);
  auto writer = writerTo(dir.path("out"));
  for(const std::string& frame : test::readAll(**reader).frames)
    ASSERT_TRUE(writer.write(bytes(frame)));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(dir.read("out"), clip);
}

TEST(FrameWriter, InputFileIsRefusedUntouched) {
  const TempDir dir;
  const std::string path = dir.write("clip", "abcd");
  std::filesystem::create_hard_link(path, dir.path("link"));
  const auto reader = openFrames(path, {.pixelFormat = {}, .size = {}, .bytes = 4});
  ASSERT_TRUE(reader);
  expectError(errorOf(FrameWriter::open(dir.path("link"), (*reader)->file(), nullptr)),
              InputErrorKind::Contradiction,
              dir.path("link") + ": is the input file itself: --out must name another");
  EXPECT_EQ(dir.read("clip"), "abcd");
}

TEST(FrameWriter, OtherFileThanTheInputIsTaken) {
  const TempDir dir;
  const auto reader = openFrames(dir.write("clip", "abcd"), {.pixelFormat = {}, .size = {}, .bytes = 4});
  ASSERT_TRUE(reader);
  EXPECT_TRUE(FrameWriter::open(dir.write("clip2", "abcd"), (*reader)->file(), nullptr));
}

TEST(FrameWriter, MissingDirectorySaysWhatTheSystemSaid) {
  const TempDir dir;
  expectError(errorOf(FrameWriter::open(dir.path("none/out"), {}, nullptr)), InputErrorKind::Io,
              dir.path("none/out") + ": cannot be opened: No such file or directory");
}

TEST(FrameWriter, DirectorySaysWhatTheSystemSaid) {
  const TempDir dir;
  expectError(errorOf(FrameWriter::open(dir.path(), {}, nullptr)), InputErrorKind::Io,
              ": cannot be opened: Is a directory");
}

TEST(FrameWriter, FullDiskNamesPathAndFrame) {
  auto writer = writerTo("/dev/full");
  expectError(errorOf(writer.write(bytes("abcd"))), InputErrorKind::Io,
              "/dev/full: frame 0 cannot be written: No space left on device");
}

TEST(FrameWriter, ReaderThatWentAwayIsAnError) {
  const SignalGuard ignore(SIGPIPE, SIG_IGN);
  Pipe pipe;
  auto writer = writerTo(pipe.writePath());
  ASSERT_TRUE(writer.write(bytes("abcd")));
  pipe.closeReadEnd();
  expectError(errorOf(writer.write(bytes("efgh"))), InputErrorKind::Io,
              ": frame 1 cannot be written: Broken pipe");
  EXPECT_EQ(writer.framesWritten(), 1U);
}

/// Lets files grow to `bytes` and no further, for as long as it lives.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &m_before);
    const rlimit limit{bytes, m_before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &m_before); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
  rlimit m_before{};
  SignalGuard m_ignore{SIGXFSZ, SIG_IGN};
};

TEST(FrameWriter, WriteThatStopsHalfwayGoesOnToTheError) {
  const TempDir dir;
  auto writer = writerTo(dir.path("out"));
  std::optional<InputError> error;
  {
    const FileSizeLimit limit(6);
    ASSERT_TRUE(writer.write(bytes("abcd")));
    error = errorOf(writer.write(bytes("efgh")));
  }
  expectError(error, InputErrorKind::Io, ": frame 1 cannot be written: File too large");
  EXPECT_EQ(dir.read("out"), "abcdef");
}

/// Reads `fd` to its end, slowly enough for the writer to find the pipe full.
std::string drain(int fd) {
  std::string got;
  std::string piece(1000, '\0');
  for(;;) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if(n <= 0)
      return got;
    got.append(piece, 0, static_cast<std::size_t>(n));
  }
}

TEST(FrameWriter, FrameLargerThanThePipeArrivesWhole) {
  Pipe pipe;
  std::string frame(300000, '\0');
  for(std::size_t i = 0; i < frame.size(); ++i)
    frame[i] = static_cast<char>(i * 13 + i / 253);
  std::string got;
  std::thread reader([&] { got = drain(pipe.readEnd()); });
  {
    auto writer = writerTo(pipe.writePath());
    pipe.closeWriteEnd();
    EXPECT_TRUE(writer.write(bytes(frame)));
    EXPECT_TRUE(writer.finish());
  }
  reader.join();
  EXPECT_EQ(got, frame);
}

TEST(FrameWriter, SignalsWithoutTheFlagDoNoHarm) {
  static std::atomic<int> signals;
  signals = 0;
  const SignalGuard guard(SIGUSR1, [](int) { ++signals; });
  Pipe pipe;
  const std::string frame(200000, 'x');
  auto writer = writerTo(pipe.writePath());
  std::optional<InputError> error;
  std::thread writing([&] {
    error = errorOf(writer.write(bytes(frame)));
    pipe.closeWriteEnd();
    const auto finished = writer.finish();
    EXPECT_TRUE(finished);
  });
  while(signals < 5) {
    ::pthread_kill(writing.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::string got = drain(pipe.readEnd());
  writing.join();
  EXPECT_FALSE(error);
  EXPECT_EQ(got, frame);
}

TEST(FrameWriter, FlagEndsAWriteThatWaitsForAReader) {
  Pipe pipe;
  std::atomic<bool> stop{false};
  auto writer = FrameWriter::open(pipe.writePath(), {}, &stop);
  ASSERT_TRUE(writer);
  std::thread interrupter([&] { stop = true; });
  const auto error = errorOf(writer->write(bytes(std::string(300000, 'x'))));
  interrupter.join();
  expectError(error, InputErrorKind::Interrupted, ": interrupted");
  EXPECT_EQ(writer->framesWritten(), 0U);
}

TEST(FrameWriter, DashIsStandardOutputAndStaysOpen) {
  Pipe pipe;
  {
    const ReplacedStream out(STDOUT_FILENO, pipe.writeEnd());
    auto writer = writerTo("-");
    ASSERT_TRUE(writer.write(bytes("abcd")));
    ASSERT_TRUE(writer.finish());
    EXPECT_NE(::fcntl(STDOUT_FILENO, F_GETFD), -1);
  }
  pipe.closeWriteEnd();
  EXPECT_EQ(drain(pipe.readEnd()), "abcd");
}

TEST(FrameWriter, StandardOutputStaysBlockingForOthers) {
  Pipe pipe;
  const ReplacedStream out(STDOUT_FILENO, pipe.writeEnd());
  auto writer = writerTo("-");
  ASSERT_TRUE(writer.write(bytes("abcd")));
  EXPECT_EQ(::fcntl(pipe.writeEnd(), F_GETFL) & O_NONBLOCK, 0);
}

/// A socket cannot be opened once more by its path.
TEST(FrameWriter, SocketTakesFramesToo) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const std::string frame(300000, 'x');
  std::string got;
  std::thread reader([&] { got = drain(ends[1]); });
  {
    const ReplacedStream out(STDOUT_FILENO, ends[0]);
    ::close(ends[0]);
    auto writer = writerTo("-");
    EXPECT_TRUE(writer.write(bytes(frame)));
    EXPECT_TRUE(writer.finish());
  }
  reader.join();
  ::close(ends[1]);
  EXPECT_EQ(got, frame);
}

TEST(FrameWriter, StandardOutputThatIsAFileIsAppendedTo) {
  const TempDir dir;
  const std::string path = dir.write("log", "before");
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  {
    const ReplacedStream out(STDOUT_FILENO, file);
    auto writer = writerTo("-");
    ASSERT_TRUE(writer.write(bytes("abcd")));
    ASSERT_TRUE(writer.finish());
  }
  ::close(file);
  EXPECT_EQ(dir.read("log"), "beforeabcd");
}

TEST(FrameWriter, ClosedStandardOutputSaysWhatTheSystemSaid) {
  Pipe pipe;
  std::optional<InputError> error;
  {
    const ReplacedStream out(STDOUT_FILENO, pipe.writeEnd());
    ::close(STDOUT_FILENO);
    error = errorOf(FrameWriter::open("-", {}, nullptr));
  }
  expectError(error, InputErrorKind::Io, "standard output: cannot be used: Bad file descriptor");
}

TEST(FrameWriter, FinishTellsOfErrorsThatComeLate) {
  const TempDir dir;
  const int file = ::open(dir.write("out", "").c_str(), O_WRONLY | O_CLOEXEC);
  std::optional<InputError> error;
  {
    const ReplacedStream out(STDOUT_FILENO, file);
    ::close(file);
    auto writer = writerTo("-");
    ASSERT_TRUE(writer.write(bytes("abcd")));
    ::close(STDOUT_FILENO); // so that seeing it to the disk fails
    error = errorOf(writer.finish());
  }
  expectError(error, InputErrorKind::Io,
              "standard output: cannot be synced to the disk (frames written: 1): Bad file descriptor");
}

} // namespace
} // namespace rdmagpu::cli
