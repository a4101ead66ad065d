#include "output.hpp"

#include "failure.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace rdmagpu::cli {

bool reserveStandardDescriptors() noexcept {
  for(const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if(::fcntl(standard, F_GETFD) != -1)
      continue;
    // The lowest free number is given, which is this one; opened for what nobody does with it.
    const int opened = ::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if(opened != standard)
      return false;
  }
  return true;
}

Expected<void> writeOutput(std::string_view text) {
  while(!text.empty()) {
    const ssize_t done = ::write(STDOUT_FILENO, text.data(), text.size());
    if(done >= 0)
      text.remove_prefix(static_cast<std::size_t>(done));
    else if(errno != EINTR)
      return osError("standard output", "cannot be written", errno);
  }
  return {};
}

int finishWith(std::string_view text, const char* command, int exitCode) {
  const auto written = writeOutput(text);
  if(written)
    return exitCode;
  printFailure(command, failureOf(written.error()));
  return exitNo;
}

void printNote(std::string_view text) {
  std::fprintf(stderr, "rdmagpu: %.*s\n", static_cast<int>(text.size()), text.data());
}

} // namespace rdmagpu::cli
