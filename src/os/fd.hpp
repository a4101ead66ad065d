#pragma once
#include <base/unique.hpp>

namespace rdmagpu::os {

struct FdTraits {
  using Type = int;
  static constexpr int empty() noexcept { return -1; }
  static void close(int fd) noexcept; ///< A failure goes to the log sink.
};

/// An owned file descriptor.
using Fd = Unique<FdTraits>;

} // namespace rdmagpu::os
