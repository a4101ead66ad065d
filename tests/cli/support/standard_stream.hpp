#pragma once
#include <fcntl.h>
#include <unistd.h>

namespace rdmagpu::cli::test {

/// Puts another file in place of standard input or output, for as long as this lives.
class ReplacedStream {
public:
  ReplacedStream(int stream, int replacement)
      : m_stream(stream), m_saved(::fcntl(stream, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(replacement, stream);
  }
  ~ReplacedStream() {
    if(m_saved < 0) {
      ::close(m_stream);
      return;
    }
    ::dup2(m_saved, m_stream);
    ::close(m_saved);
  }
  ReplacedStream(const ReplacedStream&) = delete;
  ReplacedStream& operator=(const ReplacedStream&) = delete;

private:
  int m_stream;
  int m_saved;
};

} // namespace rdmagpu::cli::test
