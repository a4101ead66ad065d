#pragma once
#include <base/unique.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>

namespace rdmagpu::os {

struct FdTraits {
  using Type = int;
  static constexpr int empty() noexcept { return -1; }
  RDMAGPU_API static void close(int fd) noexcept; ///< A failure goes to the log sink.
};

/// An owned file descriptor.
using Fd = Unique<FdTraits>;

/// The same file under a descriptor above 2. In a process that runs with its standard descriptors
/// closed a new one may be 1, and what the program prints would be written into the memory behind it.
Result<Fd> aboveStandard(Fd);

/// Another descriptor of the same file, above 2 and close-on-exec.
Result<Fd> duplicate(int fd);

} // namespace rdmagpu::os
