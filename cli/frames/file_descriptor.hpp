#pragma once
#include <unistd.h>

#include <utility>

namespace rdmagpu::cli {

/// Owns an open file, or borrows standard input or output. Empty is -1.
class FileDescriptor {
public:
  FileDescriptor() noexcept = default;
  static FileDescriptor own(int fd) noexcept { return FileDescriptor(fd, true); }
  static FileDescriptor borrow(int fd) noexcept { return FileDescriptor(fd, false); }

  FileDescriptor(FileDescriptor&& other) noexcept
      : m_fd(std::exchange(other.m_fd, -1)), m_owned(std::exchange(other.m_owned, false)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(m_fd, other.m_fd);
    std::swap(m_owned, other.m_owned);
    return *this;
  }
  ~FileDescriptor() {
    if(m_owned)
      ::close(m_fd);
  }

  int get() const noexcept { return m_fd; }

  /// Closes an owned file and leaves this empty. The answer is close()'s own, 0 when there was nothing to
  /// close.
  int close() noexcept {
    const int fd = std::exchange(m_fd, -1);
    return std::exchange(m_owned, false) ? ::close(fd) : 0;
  }

private:
  FileDescriptor(int fd, bool owned) noexcept : m_fd(fd), m_owned(owned) {}
  int m_fd{-1};
  bool m_owned{};
};

} // namespace rdmagpu::cli
