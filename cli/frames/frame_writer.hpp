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

namespace rdmagpu::cli {

/// Writes frames back to back, with nothing between them. What was written before a failure stays.
/// The program ignores SIGPIPE, so that a reader's going away is an error with a message.
class FrameWriter {
public:
  /// "-" is standard output. A file that is there is emptied, unless it is `input`, which is refused
  /// untouched. The flag is borrowed for the writer's life.
  static Expected<FrameWriter> open(const std::string& path, std::optional<FileId> input, StopFlag stop);

  /// The whole frame or an error, which names the frame, counted from 0.
  Expected<void> write(std::span<const std::byte> frame);

  /// Sees a file's bytes to the disk and closes it. Only this can tell of errors that come so late;
  /// destruction alone does not.
  Expected<void> finish();

  std::uint64_t framesWritten() const noexcept { return m_written; }

private:
  FrameWriter(FileDescriptor fd, std::string name, StopFlag stop);
  void preventBlocking();
  InputError failure(int code) const;

  FileDescriptor m_fd;
  std::string m_name;
  StopFlag m_stop{};
  bool m_regular{};
  std::size_t m_mostAtOnce{SIZE_MAX}; ///< Bytes a write().
  std::uint64_t m_written{};
};

} // namespace rdmagpu::cli
