#pragma once
#include <atomic>
#include <csignal>

namespace rdmagpu::cli {

/// From now on the first SIGINT or SIGTERM only sets the flag, so that the command ends in good order; the
/// second ends the process at once.
void catchSignals() noexcept;

/// For every command: a write to a closed pipe or beyond the limit on file sizes is an error with a message,
/// not a signal that ends the process.
void ignoreOutputSignals() noexcept;

/// While it lives SIGINT and SIGTERM end the process at once, as they do before catchSignals(): for what
/// cannot look at the flag, such as the kernel while it populates memory.
class DefaultSignals {
public:
  DefaultSignals() noexcept;
  ~DefaultSignals();
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;

private:
  struct sigaction m_interrupt;
  struct sigaction m_terminate;
};

/// Set by a signal, or by a command that wants its own blocking reads and writes to end.
std::atomic<bool>& stopFlag() noexcept;

/// The signal that came; 0 when none did.
int stopSignal() noexcept;

/// Sleeps until a signal comes; returns at once when one has come already.
void waitForSignal() noexcept;

} // namespace rdmagpu::cli
