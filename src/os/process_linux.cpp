#include <os/calls_linux.hpp>
#include <os/process.hpp>

#include <atomic>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <new>

namespace rdmagpu::os {
namespace {

using Mark = std::atomic<std::uint64_t>;

// The kernel clears this page in a forked child (MADV_WIPEONFORK, Linux 4.14): no handler, no
// getpid() for each call. Set once; the page is never unmapped.
std::atomic<Mark*> mark{};
std::mutex markMutex;

/// Never 0, which is what a wiped page holds.
std::uint64_t freshNumber() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto time =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
  return (static_cast<std::uint64_t>(getpid()) << 40U ^ time) | 1U;
}

} // namespace

Result<std::uint64_t> identifyProcess() noexcept {
  if(!mark.load(std::memory_order_acquire)) {
    const std::lock_guard lock{markMutex};
    if(!mark.load(std::memory_order_acquire)) {
      const auto bytes = static_cast<std::size_t>(getpagesize());
      void* page = call::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if(page == MAP_FAILED)
        return call::mmap.refusal(bytes);
      if(call::madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        const Error error = call::madvise.refusal(bytes);
        call::munmap(page, bytes);
        return error;
      }
      mark.store(new (page) Mark{}, std::memory_order_release);
    }
  }
  return currentProcess();
}

std::uint64_t currentProcess() noexcept {
  Mark& number = *mark.load(std::memory_order_acquire);
  std::uint64_t seen = number.load(std::memory_order_relaxed);
  if(seen == 0) {
    const std::uint64_t fresh = freshNumber();
    seen = number.compare_exchange_strong(seen, fresh) ? fresh : seen;
  }
  return seen;
}

} // namespace rdmagpu::os
