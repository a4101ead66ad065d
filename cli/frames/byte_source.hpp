#pragma once
#include "frames/expected.hpp"
#include "frames/file_descriptor.hpp"
#include "frames/file_status.hpp"
#include "frames/stop_flag.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::cli {

/// The bytes of a file or pipe, in order, with a little read ahead so that a magic number can be looked at
/// and a line be read. What is read into a caller's span goes there without a copy, but for what was ahead.
class ByteSource {
public:
  /// Longest line that readLine() takes, without its end.
  static constexpr std::size_t maxLine = 1024;

  /// "-" is standard input. The flag is borrowed.
  static Expected<ByteSource> open(const std::string& path, StopFlag stop);

  /// For messages.
  const std::string& name() const noexcept { return m_name; }
  /// Bytes from where the source began to the file's end. Empty for a pipe.
  std::optional<std::uint64_t> size() const noexcept { return m_size; }
  /// Empty for a pipe.
  std::optional<FileId> file() const noexcept { return m_file; }

  /// The next bytes, left where they are; fewer than `count` only at the end. Valid until the next call.
  /// `count` is at most maxLine.
  Expected<std::string_view> peek(std::size_t count);

  /// Fills `into`; answers fewer bytes only at the end.
  Expected<std::size_t> read(std::span<std::byte> into);

  enum class LineEnd : std::uint8_t { Newline, EndOfInput, TooLong };
  struct Line {
    std::string_view
        text; ///< Without the newline; what there was, when there was none. Valid until the next call.
    LineEnd end{};
  };
  Expected<Line> readLine();

  /// Goes back to `offset` from where the source began. Only a regular file can.
  Expected<void> rewind(std::uint64_t offset);

private:
  ByteSource(FileDescriptor fd, std::string name, StopFlag stop);
  Expected<std::size_t> readSome(std::span<std::byte> into);
  Expected<bool> readAhead();
  std::string_view ahead() const noexcept;
  void dropAhead(std::size_t count) noexcept;

  FileDescriptor m_fd;
  std::string m_name;
  StopFlag m_stop{};
  std::optional<FileId> m_file;
  std::optional<std::uint64_t> m_size;
  std::uint64_t m_start{}; ///< Standard input may be a file that a shell's earlier command has read from.
  std::vector<std::byte> m_buffer;
  std::size_t m_begin{}, m_end{}; ///< What was read ahead lies between them.
};

} // namespace rdmagpu::cli
