#include "frames/y4m_reader.hpp"

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace rdmagpu::cli {
namespace {

constexpr std::string_view frameMark = "FRAME";

/// "FRAME" alone, or followed by parameters, which do not change the payload.
bool isFrameLine(std::string_view line) noexcept {
  return line.starts_with(frameMark) && (line.size() == frameMark.size() || line[frameMark.size()] == ' ');
}

class Y4mReader final : public FrameReader {
public:
  Y4mReader(ByteSource source, const Y4mHeader& header, std::uint64_t firstFrame)
      : m_source(std::move(source)), m_header(header), m_firstFrame(firstFrame) {}

  std::size_t frameBytes() const noexcept override { return m_header.frameBytes(); }
  std::string describe() const override { return m_header.describe(); }
  std::optional<Rate> rate() const noexcept override { return m_header.rate; }
  std::optional<FileId> file() const noexcept override { return m_source.file(); }

  std::optional<std::uint64_t> expectedFrames() const noexcept override {
    const auto size = m_source.size();
    const std::uint64_t plainFrame = frameMark.size() + 1 + frameBytes();
    // Anything left over: some FRAME line has parameters, or the last frame is cut. Only reading tells.
    if(!size || *size < m_firstFrame || (*size - m_firstFrame) % plainFrame != 0)
      return {};
    return (*size - m_firstFrame) / plainFrame;
  }

  Expected<FrameStatus> read(std::span<std::byte> into) override {
    const auto line = m_source.readLine();
    if(!line)
      return line.error();
    if(line->end == ByteSource::LineEnd::EndOfInput)
      return atEnd(line->text);
    if(!isFrameLine(line->text))
      return InputError{InputErrorKind::BadFormat,
                        fmt::format("{}: frame {} must begin with a line FRAME, found {}", m_source.name(),
                                    m_next, quote(line->text))};
    if(line->end == ByteSource::LineEnd::TooLong)
      return InputError{InputErrorKind::BadFormat,
                        fmt::format("{}: frame {} has a FRAME line of more than {} bytes", m_source.name(),
                                    m_next, ByteSource::maxLine)};
    const auto got = m_source.read(into.first(frameBytes()));
    if(!got)
      return got.error();
    if(*got < frameBytes())
      return InputError{InputErrorKind::Truncated,
                        fmt::format("{}: frame {} is truncated: {} bytes expected, {} found", m_source.name(),
                                    m_next, frameBytes(), *got)};
    ++m_next;
    return FrameStatus::Frame;
  }

  Expected<void> rewind() override {
    m_next = 0;
    return m_source.rewind(m_firstFrame);
  }

private:
  Expected<FrameStatus> atEnd(std::string_view rest) const {
    if(!rest.empty())
      return InputError{InputErrorKind::Truncated,
                        fmt::format("{}: frame {} is truncated: the input ends in its FRAME line, after {}",
                                    m_source.name(), m_next, quote(rest))};
    if(m_next == 0)
      return InputError{
          InputErrorKind::Empty,
          fmt::format("{}: has a header and no frame: at least one is expected", m_source.name())};
    return FrameStatus::End;
  }

  ByteSource m_source;
  Y4mHeader m_header;
  std::uint64_t m_firstFrame; ///< Offset of the first FRAME line.
  std::uint64_t m_next{};
};

Expected<void> checkAgreement(const Y4mHeader& header, const FrameOptions& options, const std::string& file) {
  const auto contradiction = [&](std::string option, std::string said) {
    return InputError{InputErrorKind::Contradiction,
                      fmt::format("{}: {} contradicts the Y4M header, which says {}", file, option, said)};
  };
  if(options.pixelFormat && name(*options.pixelFormat) != header.colour->pixelFormat)
    return contradiction(fmt::format("--pix {}", name(*options.pixelFormat)),
                         std::string(header.colour->pixelFormat));
  if(options.size && *options.size != header.size)
    return contradiction(fmt::format("--size {}x{}", options.size->width, options.size->height),
                         fmt::format("{}x{}", header.size.width, header.size.height));
  if(options.bytes && *options.bytes != header.frameBytes())
    return contradiction(fmt::format("--bytes {}", *options.bytes),
                         fmt::format("{} bytes a frame", header.frameBytes()));
  return {};
}

} // namespace

Expected<std::unique_ptr<FrameReader>> openY4m(ByteSource source, const FrameOptions& options) {
  const auto line = source.readLine();
  if(!line)
    return line.error();
  switch(line->end) {
  case ByteSource::LineEnd::Newline:
    break;
  case ByteSource::LineEnd::EndOfInput:
    return InputError{InputErrorKind::Truncated, fmt::format("{}: ends in its Y4M header, after {} bytes",
                                                             source.name(), line->text.size())};
  case ByteSource::LineEnd::TooLong:
    return InputError{InputErrorKind::BadFormat, fmt::format("{}: has a Y4M header of more than {} bytes",
                                                             source.name(), ByteSource::maxLine)};
  }
  const auto header = parseY4mHeader(line->text);
  if(!header)
    return InputError{header.error().kind,
                      fmt::format("{}: broken Y4M header: {}", source.name(), header.error().message)};
  if(const auto agreed = checkAgreement(*header, options, source.name()); !agreed)
    return agreed.error();
  const std::uint64_t firstFrame = line->text.size() + 1;
  return std::unique_ptr<FrameReader>(std::make_unique<Y4mReader>(std::move(source), *header, firstFrame));
}

} // namespace rdmagpu::cli
