#pragma once
#include "frames/expected.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace rdmagpu::cli {

/// Names a file whatever path or link leads to it.
struct FileId {
  dev_t device{};
  ino_t inode{};

  friend bool operator==(const FileId&, const FileId&) = default;
};

struct FileStatus {
  FileId id;
  bool regular{};
  bool directory{};
  std::uint64_t size{}; ///< Of a regular file.
};

/// `name` is only for the message.
Expected<FileStatus> fileStatus(int fd, std::string_view name);

} // namespace rdmagpu::cli
