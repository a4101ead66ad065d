#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace rdmagpu::bench {

/// Times two ways of doing the same by turns, so that what else the machine does hits both alike. Who goes
/// first alternates, for the second one finds warm caches and memory that was freed: each way has a median
/// for either place, and counts as the mean of the two.
class SideBySide {
public:
  template <class Ours, class Theirs>
  void round(Ours ours, Theirs theirs) {
    if(m_ours.first.size() == m_ours.second.size()) {
      m_ours.first.push_back(time(ours));
      m_theirs.second.push_back(time(theirs));
    } else {
      m_theirs.first.push_back(time(theirs));
      m_ours.second.push_back(time(ours));
    }
  }

  /// Sets the counters "ours_us", "theirs_us" and "ratio" (ours over theirs).
  void report(benchmark::State& state) {
    const double ours = typical(m_ours);
    const double theirs = typical(m_theirs);
    state.counters["ours_us"] = ours * 1e6;
    state.counters["theirs_us"] = theirs * 1e6;
    state.counters["ratio"] = ours / theirs;
  }

private:
  /// Of the rounds in which one way came first, and of those in which it came second.
  struct Times {
    std::vector<double> first;
    std::vector<double> second;
  };

  template <class Work>
  static double time(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  static double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  static double typical(Times& times) {
    if(times.second.empty()) // of a single round
      return times.first.empty() ? 0 : median(times.first);
    return times.first.empty() ? median(times.second) : (median(times.first) + median(times.second)) / 2;
  }

  Times m_ours;
  Times m_theirs;
};

} // namespace rdmagpu::bench
