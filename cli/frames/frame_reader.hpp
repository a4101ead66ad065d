#pragma once
#include "frames/expected.hpp"
#include "frames/file_status.hpp"
#include "frames/picture_size.hpp"
#include "frames/pixel_format.hpp"
#include "frames/rate.hpp"
#include "frames/stop_flag.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rdmagpu::cli {

/// What the command line says about the input. Raw frames need `pixelFormat` and `size`, or `bytes`; for
/// Y4M, which says it all itself, whatever is given must agree with the file.
struct FrameOptions {
  std::optional<PixelFormat> pixelFormat; ///< --pix
  std::optional<PictureSize> size;        ///< --size
  std::optional<std::size_t> bytes;       ///< --bytes
  StopFlag stop{};                        ///< Borrowed for the reader's life.
};

enum class FrameStatus : std::uint8_t { Frame, End };

/// Equal frames, one after the other, from a file or pipe. Frames are counted from 0 in messages.
/// For one thread at a time, not always the same one.
class FrameReader {
public:
  virtual ~FrameReader() = default;

  virtual std::size_t frameBytes() const noexcept = 0;
  /// "Y4M 1920x1080 yuv420p 60/1 fps", "raw 1920x1080 uyvy422", "raw frames of 4147200 bytes".
  virtual std::string describe() const = 0;
  /// What the input itself says; empty when it says nothing.
  virtual std::optional<Rate> rate() const noexcept = 0;
  /// For progress displays: from the file's size, empty for a pipe. Reading is what decides.
  virtual std::optional<std::uint64_t> expectedFrames() const noexcept = 0;
  /// Which file it is, so that nobody writes onto it. Empty for a pipe.
  virtual std::optional<FileId> file() const noexcept = 0;

  /// Fills the first frameBytes() of `into`, which has at least as many. An input without any frame is an
  /// error, not an end. After a failure `into` holds rubbish and only rewind() and destruction make sense.
  virtual Expected<FrameStatus> read(std::span<std::byte> into) = 0;

  /// Starts again at frame 0. Only a regular file can.
  virtual Expected<void> rewind() = 0;
};

/// "-" is standard input. Y4M is recognised by its first bytes, on a pipe too; anything else is raw. May
/// wait for a pipe's first bytes.
Expected<std::unique_ptr<FrameReader>> openFrames(const std::string& path, const FrameOptions& options);

} // namespace rdmagpu::cli
