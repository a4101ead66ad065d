#include "frames/raw_reader.hpp"

#include <fmt/core.h>

#include <utility>

namespace rdmagpu::cli {
namespace {

class RawReader final : public FrameReader {
public:
  RawReader(ByteSource source, std::size_t bytes, std::string description)
      : m_source(std::move(source)), m_frameBytes(bytes), m_description(std::move(description)) {}

  std::size_t frameBytes() const noexcept override { return m_frameBytes; }
  std::string describe() const override { return m_description; }
  std::optional<Rate> rate() const noexcept override { return {}; }
  std::optional<FileId> file() const noexcept override { return m_source.file(); }
  std::optional<std::uint64_t> expectedFrames() const noexcept override {
    if(const auto size = m_source.size())
      return *size / m_frameBytes;
    return {};
  }

  Expected<FrameStatus> read(std::span<std::byte> into) override {
    const auto got = m_source.read(into.first(m_frameBytes));
    if(!got)
      return got.error();
    if(*got == 0)
      return FrameStatus::End;
    if(*got < m_frameBytes)
      return InputError{InputErrorKind::Truncated,
                        fmt::format("{}: frame {} is truncated: {} bytes expected, {} found", m_source.name(),
                                    m_next, m_frameBytes, *got)};
    ++m_next;
    return FrameStatus::Frame;
  }

  Expected<void> rewind() override {
    m_next = 0;
    return m_source.rewind(0);
  }

private:
  ByteSource m_source;
  std::size_t m_frameBytes;
  std::string m_description;
  std::uint64_t m_next{};
};

/// What one frame is, as the options say.
struct RawFrame {
  std::size_t bytes{};
  std::string description;
};

InputError badValue(std::string message) { return {InputErrorKind::BadValue, std::move(message)}; }

Expected<RawFrame> frameOfPicture(PixelFormat format, PictureSize size, std::optional<std::size_t> bytes) {
  const auto computed = frameBytes(format, size);
  if(!computed)
    return computed.error();
  const std::string picture = fmt::format("{}x{} {}", size.width, size.height, name(format));
  if(bytes && *bytes != *computed)
    return badValue(fmt::format("--bytes {} contradicts --pix and --size: a frame of {} has {} bytes", *bytes,
                                picture, *computed));
  return RawFrame{*computed, "raw " + picture};
}

/// Of --pix and --size one is there.
InputError halfAPicture(const FrameOptions& options) {
  const std::string half =
      options.pixelFormat
          ? fmt::format("--pix {} needs --size WxH", name(*options.pixelFormat))
          : fmt::format("--size {}x{} needs --pix FORMAT", options.size->width, options.size->height);
  return badValue(
      half + " beside it, to say what a raw frame is" +
      (options.bytes ? fmt::format("; or leave it out: --bytes {} says enough", *options.bytes) : ""));
}

Expected<RawFrame> frameOfOptions(const FrameOptions& options, const std::string& file) {
  if(options.pixelFormat && options.size)
    return frameOfPicture(*options.pixelFormat, *options.size, options.bytes);
  if(options.pixelFormat || options.size)
    return halfAPicture(options);
  if(!options.bytes)
    return InputError{InputErrorKind::BadFormat,
                      file + ": is not Y4M, so what a frame is must be said: --pix FORMAT and --size "
                             "WIDTHxHEIGHT, or --bytes N"};
  if(*options.bytes == 0)
    return badValue("--bytes 0: a frame has at least 1 byte");
  return RawFrame{*options.bytes, fmt::format("raw frames of {} bytes", *options.bytes)};
}

} // namespace

Expected<std::unique_ptr<FrameReader>> openRaw(ByteSource source, const FrameOptions& options) {
  auto frame = frameOfOptions(options, source.name());
  if(!frame)
    return frame.error();
  if(const auto size = source.size(); size && *size % frame->bytes != 0)
    return InputError{
        InputErrorKind::Truncated,
        fmt::format("{}: {} bytes are not a whole number of frames of {} bytes: {} are left over",
                    source.name(), *size, frame->bytes, *size % frame->bytes)};
  return std::unique_ptr<FrameReader>(
      std::make_unique<RawReader>(std::move(source), frame->bytes, std::move(frame->description)));
}

} // namespace rdmagpu::cli
