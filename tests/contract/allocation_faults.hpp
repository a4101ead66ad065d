#pragma once
#include <rdmagpu/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

namespace rdmagpu::test {

/// Makes the n-th allocation with operator new on this thread, from now on, throw bad_alloc; 0: none.
void failAllocation(int n) noexcept;
/// Whether that allocation was made.
bool allocationFailed() noexcept;
/// Allocations that are made while `answer` is not 0 neither fail nor count: those of a stand-in. Null: all
/// do.
void leaveAllocationsAlone(int (*answer)()) noexcept;

inline std::ptrdiff_t openDescriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                       std::filesystem::directory_iterator{});
}

/// Runs out of memory at the first, second, ... allocation of `attempt`, which returns a Result. What
/// `ledger` says exists is the same after each failure as it was before, and so are the open descriptors.
template <class Attempt, class Ledger>
void everyAllocationFailsOnce(Attempt attempt, Ledger ledger) {
  const auto descriptors = openDescriptors();
  const std::string existing = ledger();
  for(int n = 1;; ++n) {
    failAllocation(n);
    {
      const auto outcome = attempt();
      const bool failed = allocationFailed();
      failAllocation(0);
      if(!failed) {
        EXPECT_GT(n, 1) << "nothing is allocated";
        EXPECT_TRUE(outcome) << outcome.error().message();
        return;
      }
      ASSERT_FALSE(outcome) << "allocation " << n;
      EXPECT_EQ(outcome.error().kind, Errc::OutOfMemory);
    }
    ASSERT_EQ(openDescriptors(), descriptors) << "allocation " << n;
    ASSERT_EQ(ledger(), existing) << "allocation " << n;
  }
}

template <class Attempt>
void everyAllocationFailsOnce(Attempt attempt) {
  everyAllocationFailsOnce(attempt, [] { return std::string{}; });
}

} // namespace rdmagpu::test
