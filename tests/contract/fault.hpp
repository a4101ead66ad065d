#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::test {

/// What a scenario left to be seen: how it ended, and every failure that it survived - in facts()
/// or in the log sink.
struct Outcome {
  Result<void> result;
  std::vector<Error> survived;
};

/// Every failure that the creation of a buffer survived.
inline std::vector<Error> survivedBy(const BufferFacts& facts) {
  std::vector<Error> survived = facts.tolerated;
  for(const Error& error : {facts.lockError, facts.pinError, facts.syncMemopsError}) {
    if(error.kind != Errc::None)
      survived.push_back(error);
  }
  return survived;
}

/// Whether the failed call is named by the outcome.
inline bool shows(std::string_view failed, const Outcome& outcome) {
  if(!outcome.result && failed == outcome.result.error().call)
    return true;
  return std::any_of(outcome.survived.begin(), outcome.survived.end(),
                     [&](const Error& error) { return failed == error.call; });
}

/// Whether what is said to be done speaks of that.
inline bool hintsName(const Error& error, std::string_view word) {
  return std::ranges::any_of(error.hints(), [&](const char* sentence) {
    return std::string_view{sentence}.find(word) != std::string_view::npos;
  });
}

/// Fails the n-th call of a stand-in for n = 1, 2, ... until nothing is left to fail. A stand-in
/// has failCall(n), failedCall() ("" when the run made fewer than n calls) and ledger(), which is
/// empty when all that was acquired has been given back. `scenario` builds, uses and destroys.
template <class Standin, class Scenario>
void everyCallFailsOnce(Standin& standin, Scenario scenario) {
  for(int n = 1;; ++n) {
    standin.failCall(n);
    const Outcome outcome = scenario();
    const std::string failed = standin.failedCall();
    standin.failCall(0);
    ASSERT_EQ(standin.ledger(), "") << "left over after failing call " << n << ", " << failed;
    if(failed.empty()) {
      EXPECT_GT(n, 1) << "the scenario makes no call that can fail";
      ASSERT_TRUE(outcome.result) << outcome.result.error().message();
      return;
    }
    ASSERT_TRUE(shows(failed, outcome)) << "swallowed a failed " << failed << " (call " << n << ")";
  }
}

} // namespace rdmagpu::test
