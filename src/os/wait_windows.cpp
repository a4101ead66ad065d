#include <os/calls_windows.hpp>
#include <os/wait.hpp>

#include <algorithm>

namespace rdmagpu::os {

// The system reads the word itself.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
          std::chrono::nanoseconds timeout) noexcept {
  if(timeout <= std::chrono::nanoseconds::zero())
    return;
  constexpr std::chrono::milliseconds longest{INFINITE - 1};
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(timeout); // its unit; 0 would not wait
  // Each way in which it can fail means: look again.
  auto* address = const_cast<std::atomic<std::uint32_t>*>(&word); // which it only reads
  ::WaitOnAddress(address, &expected, sizeof expected, static_cast<DWORD>(std::min(whole, longest).count()));
}

void wakeAll(const std::atomic<std::uint32_t>& word) noexcept {
  ::WakeByAddressAll(const_cast<std::atomic<std::uint32_t>*>(&word)); // of which it uses the address only
}

} // namespace rdmagpu::os
