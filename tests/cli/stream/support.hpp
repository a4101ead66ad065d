#pragma once
#include "frames/frame_reader.hpp"
#include "stream/frame_sequence.hpp"

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::cli::test {

/// Frames of one letter each: "a", "b", ...; and what goes wrong behind them, if anything.
class Letters final : public FrameReader {
public:
  Letters(std::size_t bytes, std::uint64_t count, std::optional<InputError> failure = {})
      : m_bytes(bytes), m_count(count), m_failure(std::move(failure)) {}

  static std::string frame(std::uint64_t index, std::size_t bytes) {
    return std::string(bytes, static_cast<char>('a' + index % 26));
  }

  std::size_t frameBytes() const noexcept override { return m_bytes; }
  std::string describe() const override { return "letters"; }
  std::optional<Rate> rate() const noexcept override { return {}; }
  std::optional<std::uint64_t> expectedFrames() const noexcept override { return m_count; }
  std::optional<FileId> file() const noexcept override { return {}; }
  Expected<FrameStatus> read(std::span<std::byte> into) override {
    if(m_next == m_count && m_failure)
      return *m_failure;
    if(m_next == m_count)
      return FrameStatus::End;
    std::memcpy(into.data(), frame(m_next++, m_bytes).data(), m_bytes);
    return FrameStatus::Frame;
  }
  Expected<void> rewind() override {
    m_next = 0;
    return {};
  }

private:
  std::size_t m_bytes;
  std::uint64_t m_count;
  std::uint64_t m_next{};
  std::optional<InputError> m_failure;
};

inline std::string text(std::span<const std::byte> bytes) {
  // Looking at bytes as characters is what reinterpret_cast allows.
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

} // namespace rdmagpu::cli::test
