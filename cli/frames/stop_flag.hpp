#pragma once
#include "frames/expected.hpp"
#include "frames/file_descriptor.hpp"

#include <atomic>
#include <string>

namespace rdmagpu::cli {

/// Set by a signal handler, or by whoever wants blocking reads and writes to end. Null: nothing ends them.
using StopFlag = const std::atomic<bool>*;

inline bool stopAsked(StopFlag stop) noexcept { return stop && stop->load(std::memory_order_relaxed); }

/// Waits until `fd` can be read (POLLIN) or written (POLLOUT), or the flag is set; the caller looks at the
/// flag. Looks at it several times a second too, because the signal may reach another thread than this one
/// or come just before the wait. Whatever is wrong with `fd` is left for the read or write to say.
void waitReady(int fd, short events, StopFlag stop) noexcept;

/// open() with close-on-exec, again after a signal unless the flag is set. Opening a FIFO waits for the other
/// end.
Expected<FileDescriptor> openFile(const std::string& path, int flags, StopFlag stop);

} // namespace rdmagpu::cli
