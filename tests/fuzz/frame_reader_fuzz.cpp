// Any bytes as an input file. The first byte picks the options, the rest is the file. It is read from a
// regular file and from a pipe, which must agree, and from the file once more after rewind().
#include "check.hpp"

#include "frames/frame_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace rdmagpu::cli;
using rdmagpu::fuzz::check;

namespace {

constexpr std::size_t largestInput = 16384;  // so that a pipe takes it without a reader
constexpr std::size_t largestFrame = 262144; // a header may ask for gigabytes; then only opening is tried

FrameOptions optionsFor(char letter) {
  switch(letter) {
  case 'b':
    return {.pixelFormat = {}, .size = {}, .bytes = 7};
  case 'g':
    return {.pixelFormat = PixelFormat::Gray, .size = PictureSize{3, 2}, .bytes = {}};
  case 'u':
    return {.pixelFormat = PixelFormat::Uyvy422, .size = PictureSize{2, 3}, .bytes = 12};
  case 'v':
    return {.pixelFormat = PixelFormat::V210, .size = PictureSize{3, 2}, .bytes = {}};
  case 'p':
    return {.pixelFormat = PixelFormat::Yuv420p, .size = {}, .bytes = {}};
  default:
    return {};
  }
}

/// Closes what it opened.
struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }
};

struct Outcome {
  std::string description;
  std::vector<std::string> frames;
  std::string error; ///< Without the path.
  InputErrorKind kind{};

  bool operator==(const Outcome&) const = default;
};

void fail(Outcome& outcome, const InputError& error, const std::string& path) {
  outcome.kind = error.kind;
  outcome.error = error.message;
  if(outcome.error.starts_with(path))
    outcome.error.erase(0, path.size());
  check(!outcome.error.empty(), "an error has a message");
  for(const char c : outcome.error)
    check(c >= 0x20 && c < 0x7f, "a message is printable", outcome.error);
}

void readFrames(FrameReader& reader, Outcome& outcome, const std::string& path) {
  std::string frame(reader.frameBytes(), '\0');
  for(;;) {
    const auto status = reader.read(std::as_writable_bytes(std::span(frame)));
    if(!status)
      return fail(outcome, status.error(), path);
    if(*status == FrameStatus::End)
      return;
    outcome.frames.push_back(frame);
  }
}

Outcome readAll(const std::string& path, const FrameOptions& options, bool again) {
  Outcome outcome;
  const auto opened = openFrames(path, options);
  if(!opened) {
    fail(outcome, opened.error(), path);
    return outcome;
  }
  FrameReader& reader = **opened;
  outcome.description = reader.describe();
  check(reader.frameBytes() > 0, "a frame has bytes", outcome.description);
  if(reader.frameBytes() > largestFrame)
    return outcome;
  readFrames(reader, outcome, path);
  if(outcome.error.empty())
    check(!outcome.frames.empty(), "an input without frames is an error");
  if(again) {
    Outcome second{.description = outcome.description, .frames = {}, .error = {}};
    check(reader.rewind().has_value(), "a file can be rewound");
    readFrames(reader, second, path);
    check(second == outcome, "the second pass is like the first", outcome.error + " / " + second.error);
  }
  return outcome;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if(size == 0 || size > largestInput)
    return 0;
  const FrameOptions options = optionsFor(static_cast<char>(data[0]));
  ++data;
  --size;

  const Descriptor file{::memfd_create("fuzz", MFD_CLOEXEC)};
  check(::write(file.fd, data, size) == static_cast<ssize_t>(size), "the file is written");
  const Outcome fromFile = readAll(file.path(), options, true);

  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe is made");
  const Descriptor readEnd{ends[0]};
  check(::write(ends[1], data, size) == static_cast<ssize_t>(size), "the pipe is filled");
  ::close(ends[1]);
  const Outcome fromPipe = readAll(readEnd.path(), options, false);

  // Only a file can be known not to divide before its frames are read.
  const bool refusedAtOnce = fromFile.description.empty() && fromFile.kind == InputErrorKind::Truncated &&
                             fromPipe.kind == InputErrorKind::Truncated;
  check(fromFile == fromPipe || refusedAtOnce, "file and pipe agree",
        fromFile.error + " / " + fromPipe.error);
  return 0;
}
