#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace rdmagpu::cli::test {

/// A pipe whose ends can be opened by path, as a program's standard input and output would be.
class Pipe {
public:
  Pipe() {
    if(::pipe2(m_fds.data(), O_CLOEXEC) != 0)
      m_fds = {-1, -1};
  }
  ~Pipe() {
    closeReadEnd();
    closeWriteEnd();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int readEnd() const { return m_fds[0]; }
  int writeEnd() const { return m_fds[1]; }
  std::string readPath() const { return "/proc/self/fd/" + std::to_string(m_fds[0]); }
  std::string writePath() const { return "/proc/self/fd/" + std::to_string(m_fds[1]); }
  void closeReadEnd() { closeEnd(0); }
  void closeWriteEnd() { closeEnd(1); }

  /// Writes everything, `chunk` bytes at a time.
  void write(std::string_view bytes, std::size_t chunk = 65536) const {
    while(!bytes.empty()) {
      const ssize_t done = ::write(m_fds[1], bytes.data(), std::min(chunk, bytes.size()));
      if(done < 0)
        return;
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
  }

private:
  void closeEnd(std::size_t end) {
    if(const int fd = std::exchange(m_fds[end], -1); fd >= 0)
      ::close(fd);
  }
  std::array<int, 2> m_fds{-1, -1};
};

/// A pipe that somebody writes into, in small pieces, and then closes.
class FedPipe {
public:
  FedPipe(std::string bytes, std::size_t chunk)
      : m_path(m_pipe.readPath()), m_feeder([this, bytes = std::move(bytes), chunk] {
          m_pipe.write(bytes, chunk);
          m_pipe.closeWriteEnd();
        }) {}
  ~FedPipe() {
    std::array<char, 4096> rest;
    while(::read(m_pipe.readEnd(), rest.data(), rest.size()) > 0) {
    }
    m_feeder.join();
  }
  const std::string& path() const { return m_path; }

private:
  Pipe m_pipe;
  std::string m_path;
  std::thread m_feeder;
};

} // namespace rdmagpu::cli::test
