#pragma once
#include <atomic>

namespace rdmagpu::cli {

/// From now on the first SIGINT or SIGTERM only sets the flag, so that the command ends in good order; the
/// second ends the process at once. SIGPIPE is ignored: a write to a closed pipe is an error with a message.
void catchSignals() noexcept;

/// Set by a signal, or by a command that wants its own blocking reads and writes to end.
std::atomic<bool>& stopFlag() noexcept;

/// The signal that came; 0 when none did.
int stopSignal() noexcept;

/// Sleeps until a signal comes; returns at once when one has come already.
void waitForSignal() noexcept;

} // namespace rdmagpu::cli
