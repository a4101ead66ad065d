#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace rdmagpu::testkit {

/// What a worker process ends with. It is one that may die of what it asks of the driver.
enum WorkerEnd : int { workerGood = 0, workerDiffers = 1, workerCannot = 3, workerLostDriver = 4 };

struct RecordOptions {
  std::string folder = ".";
  std::uint64_t seed = 1;
  std::size_t calls = 105'000;
  std::size_t wholeLines = 2000;
  std::string
      leftOutPath{}; ///< What is to be left out, as an earlier recording found; empty: it is found out.
};

/// Records into folder/full.txt and folder/trace.txt, without what folder/left_out.txt names.
int recordInThisProcess(const RecordOptions&);
/// Runs until what the pattern names was called a number of times; tells whether the driver survives that.
int probeInThisProcess(const std::string& pattern);
/// Compares, without making what `deadlyPath` names; the run is written down in `fullPath`.
int replayInThisProcess(const std::string& tracePath, const std::string& fullPath,
                        const std::string& deadlyPath);
/// Writes what this machine's driver says of itself.
int writeProfile(std::FILE*);

} // namespace rdmagpu::testkit
