#pragma once
#include <benchmark/benchmark.h>

#include <cstdlib>

namespace rdmagpu::bench {

/// How many rounds a benchmark's figures are taken from; one where RDMAGPU_BENCH_ONCE is set, to see that it
/// runs.
inline benchmark::IterationCount iterations(benchmark::IterationCount rounds) {
  return std::getenv("RDMAGPU_BENCH_ONCE") ? 1 : rounds;
}

} // namespace rdmagpu::bench
