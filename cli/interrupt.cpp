#include "interrupt.hpp"

#include <csignal>
#include <cstddef>

namespace rdmagpu::cli {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> received{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may touch nothing else");

void onSignal(int signal) {
  received.store(signal);
  stop.store(true);
}

/// Changes what a signal does, but for one that nohup has switched off. Returns what it did.
struct sigaction replaceAction(int signal, const struct sigaction& action) noexcept {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if(signal != SIGHUP || before.sa_handler != SIG_IGN)
    ::sigaction(signal, &action, nullptr);
  return before;
}

} // namespace

void catchSignals() noexcept {
  struct sigaction action {};
  action.sa_handler = onSignal;
  for(const int signal : endingSignals) {
    // Without SA_RESTART, so that a blocking read returns.
    action.sa_flags = signal == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND);
    replaceAction(signal, action);
  }
}

void ignoreOutputSignals() noexcept {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
  ::sigaction(SIGXFSZ, &ignore, nullptr);
}

DefaultSignals::DefaultSignals() noexcept : m_before{} {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for(std::size_t i = 0; i < endingSignals.size(); ++i)
    m_before[i] = replaceAction(endingSignals[i], standard);
}

DefaultSignals::~DefaultSignals() {
  for(std::size_t i = 0; i < endingSignals.size(); ++i)
    ::sigaction(endingSignals[i], &m_before[i], nullptr);
}

std::atomic<bool>& stopFlag() noexcept { return stop; }

int stopSignal() noexcept { return received.load(); }

void waitForSignal() noexcept {
  sigset_t block{};
  sigset_t before{};
  ::sigemptyset(&block);
  for(const int signal : endingSignals)
    ::sigaddset(&block, signal);
  // Blocked while looking, so that none comes between the look and the sleep.
  ::pthread_sigmask(SIG_BLOCK, &block, &before);
  while(stopSignal() == 0)
    // NOLINTNEXTLINE(concurrency-mt-unsafe): it waits for the process, on its only thread
    ::sigsuspend(&before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace rdmagpu::cli
