#pragma once
#include <array>
#include <atomic>
#include <csignal>

namespace rdmagpu::cli {

/// The signals that tell the program to end: Ctrl-C, `kill`, and a terminal that goes away.
inline constexpr std::array endingSignals{SIGINT, SIGTERM, SIGHUP};

/// From now on the first of those signals only sets the flag, so that the command ends in good order; the
/// second of its kind ends the process at once. Not so SIGHUP, which shell and kernel may both send for one
/// terminal; if the program was started to ignore it, as nohup does, it stays ignored.
void catchSignals() noexcept;

/// For every command: a write to a closed pipe or beyond the limit on file sizes is an error with a message,
/// not a signal that ends the process.
void ignoreOutputSignals() noexcept;

/// While it lives those signals end the process at once, as they do before catchSignals(): for what cannot
/// look at the flag, such as the kernel while it populates memory.
class DefaultSignals {
public:
  DefaultSignals() noexcept;
  ~DefaultSignals();
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;

private:
  std::array<struct sigaction, endingSignals.size()> m_before;
};

/// Set by a signal, or by a command that wants its own blocking reads and writes to end.
std::atomic<bool>& stopFlag() noexcept;

/// The signal that came; 0 when none did.
int stopSignal() noexcept;

/// Sleeps until a signal comes; returns at once when one has come already.
void waitForSignal() noexcept;

} // namespace rdmagpu::cli
