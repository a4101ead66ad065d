#pragma once
#include <signal.h>

namespace rdmagpu::cli::test {

/// A signal with another handler, without SA_RESTART, for as long as this lives.
class SignalGuard {
public:
  SignalGuard(int signal, void (*handler)(int)) : m_signal(signal) {
    struct sigaction action {};
    action.sa_handler = handler;
    ::sigaction(signal, &action, &m_before);
  }
  ~SignalGuard() { ::sigaction(m_signal, &m_before, nullptr); }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

private:
  int m_signal;
  struct sigaction m_before {};
};

} // namespace rdmagpu::cli::test
