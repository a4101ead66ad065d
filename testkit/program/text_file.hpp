#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace rdmagpu::testkit {

/// A file that holds what was written even when the process is killed the next moment.
class TextFile {
public:
  explicit TextFile(const std::string& path)
      : m_fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() {
    if(m_fd >= 0)
      close(m_fd);
  }
  bool good() const noexcept { return m_fd >= 0; }
  void write(const std::string& text) {
    std::size_t done = 0;
    while(m_fd >= 0 && done < text.size()) {
      const ssize_t part = ::write(m_fd, text.data() + done, text.size() - done);
      if(part < 0) {
        close(m_fd);
        m_fd = -1;
        return;
      }
      done += static_cast<std::size_t>(part);
    }
  }

private:
  int m_fd;
};

} // namespace rdmagpu::testkit
