#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace rdmagpu::bench {

/// Times two ways of doing the same by turns, so that what else the machine does hits both alike.
class SideBySide {
public:
  template <class Ours, class Theirs>
  void round(Ours ours, Theirs theirs) {
    // Who goes first alternates: the second one finds warm caches and freed memory.
    if(m_ours.size() % 2 == 0) {
      m_ours.push_back(time(ours));
      m_theirs.push_back(time(theirs));
    } else {
      m_theirs.push_back(time(theirs));
      m_ours.push_back(time(ours));
    }
  }

  /// Sets the counters "ours_us", "theirs_us" (medians) and "ratio" (ours over theirs).
  void report(benchmark::State& state) {
    const double ours = median(m_ours);
    const double theirs = median(m_theirs);
    state.counters["ours_us"] = ours * 1e6;
    state.counters["theirs_us"] = theirs * 1e6;
    state.counters["ratio"] = ours / theirs;
  }

private:
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

  std::vector<double> m_ours;
  std::vector<double> m_theirs;
};

} // namespace rdmagpu::bench
