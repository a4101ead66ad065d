#include <os/wait.hpp>

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdmagpu::os {

// The kernel reads the word itself.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
          std::chrono::nanoseconds timeout) noexcept {
  if(timeout <= std::chrono::nanoseconds::zero())
    return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
  const timespec relative{.tv_sec = static_cast<std::time_t>(seconds.count()),
                          .tv_nsec = static_cast<long>((timeout - seconds).count())};
  // Each way in which it can fail (changed value, signal, time-out) means: look again.
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &relative, nullptr, 0);
}

void wakeAll(const std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace rdmagpu::os
