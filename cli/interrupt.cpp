#include "interrupt.hpp"

#include <csignal>

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

} // namespace

void catchSignals() noexcept {
  struct sigaction action {};
  action.sa_handler = onSignal;
  // Without SA_RESTART, so that a blocking read returns.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void ignoreOutputSignals() noexcept {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
  ::sigaction(SIGXFSZ, &ignore, nullptr);
}

DefaultSignals::DefaultSignals() noexcept : m_interrupt{}, m_terminate{} {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGINT, &standard, &m_interrupt);
  ::sigaction(SIGTERM, &standard, &m_terminate);
}

DefaultSignals::~DefaultSignals() {
  ::sigaction(SIGINT, &m_interrupt, nullptr);
  ::sigaction(SIGTERM, &m_terminate, nullptr);
}

std::atomic<bool>& stopFlag() noexcept { return stop; }

int stopSignal() noexcept { return received.load(); }

void waitForSignal() noexcept {
  sigset_t block{};
  sigset_t before{};
  ::sigemptyset(&block);
  ::sigaddset(&block, SIGINT);
  ::sigaddset(&block, SIGTERM);
  // Blocked while looking, so that none comes between the look and the sleep.
  ::pthread_sigmask(SIG_BLOCK, &block, &before);
  while(stopSignal() == 0)
    // NOLINTNEXTLINE(concurrency-mt-unsafe): it waits for the process, on its only thread
    ::sigsuspend(&before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace rdmagpu::cli
