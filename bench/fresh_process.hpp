#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <type_traits>

namespace rdmagpu::bench {

/// What `work` returns in a process that has done nothing yet; nothing where that process or a pipe to it
/// cannot be had, or it dies.
template <class Work>
auto inFreshProcess(Work work) -> std::optional<decltype(work())> {
  using Told = decltype(work());
  static_assert(std::is_trivially_copyable_v<Told>);
  int ends[2];
  if(pipe(ends) != 0)
    return {};
  const pid_t child = fork();
  if(child == 0) {
    const Told told = work();
    _exit(write(ends[1], &told, sizeof told) == sizeof told ? 0 : 1);
  }
  close(ends[1]);
  Told told;
  const bool came = child > 0 && read(ends[0], &told, sizeof told) == sizeof told;
  close(ends[0]);
  if(child > 0)
    waitpid(child, nullptr, 0);
  return came ? std::optional{told} : std::nullopt;
}

} // namespace rdmagpu::bench
