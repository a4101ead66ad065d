#pragma once
#include <cuda_driver.hpp>

#include <benchmark/benchmark.h>

#include <cstdio>

namespace rdmagpu::bench {

/// Runs the benchmarks on CUDA. `begin` is called first, while there is no context; it returns false, having
/// said why, where there is no GPU to measure, which is no failure.
template <class Begin>
int runOnCuda(int argc, char** argv, Begin begin) {
  benchmark::Initialize(&argc, argv);
  if(benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  if(!begin())
    return 0;
  if(!keepPrimaryContext()) {
    std::fprintf(stderr, "%s: the primary context cannot be made current\n", argv[0]);
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

} // namespace rdmagpu::bench
