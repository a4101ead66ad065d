#include <profiles.hpp>
#include <program/folders.hpp>
#include <program/supervisor.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace rdmagpu::testkit;

constexpr const char* usage = R"(usage: rdmagpu-testkit COMMAND [OPTIONS]

  path       prints where the software devices are, for LD_LIBRARY_PATH
  profiles   lists the machines that they can be
  record     makes random calls of the CUDA driver on this machine and writes down what it answers
  replay     makes the calls of a recorded trace and tells where this machine's driver answers otherwise
  profile    prints what the driver says of itself

For record, replay and profile the driver is the libcuda.so.1 that the library path leads to.

  path [DRIVER]
      DRIVER: cuda (the default), cuda-11.4 or cuda-10.1, which lack what such a driver lacks.
      LD_LIBRARY_PATH=$(rdmagpu-testkit path) PROGRAM runs a program on them.
  record [--out DIR] [--seed N] [--calls N] [--left-out FILE]
      writes DIR/trace.txt (small, to be kept), DIR/full.txt (every call in words) and DIR/profile.txt.
      Default: the current folder, seed 1, 105000 calls. What ends a process is found by trying, which takes
      minutes on a GPU, and written to DIR/left_out.txt. FILE is such a list of an earlier recording.
  replay TRACE [--out FILE]
      FILE: where every call is written down in words; by default TRACE.replayed.
      Ends with 1 when something differs.
)";

int fail(const std::string& what) {
  std::fprintf(stderr, "rdmagpu-testkit: %s; see rdmagpu-testkit --help\n", what.c_str());
  return 2;
}

std::optional<std::size_t> number(const std::string& text) {
  if(text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 18)
    return {};
  return std::strtoull(text.c_str(), nullptr, 10);
}

int runRecord(const std::vector<std::string>& words) {
  RecordOptions options;
  for(std::size_t i = 1; i < words.size(); i += 2) {
    if(i + 1 == words.size())
      return fail(words[i] + " needs a value");
    if(words[i] == "--out" || words[i] == "--left-out") {
      (words[i] == "--out" ? options.folder : options.leftOutPath) = words[i + 1];
      continue;
    }
    const auto value = number(words[i + 1]);
    if(!value)
      return fail(words[i + 1] + " is not a number");
    if(words[i] == "--seed")
      options.seed = *value;
    else if(words[i] == "--calls")
      options.calls = *value;
    else
      return fail("unknown option " + words[i]);
  }
  return record(options);
}

int runReplay(const std::vector<std::string>& words) {
  if(words.size() == 2)
    return replay(words[1], words[1] + ".replayed");
  if(words.size() == 4 && words[2] == "--out")
    return replay(words[1], words[3]);
  return fail("replay takes a trace");
}

int printPath(const std::string& driver) {
  const std::string path = libraryPath(driver);
  if(path.empty())
    return fail("no software device is called " + driver);
  std::puts(path.c_str());
  return 0;
}

int printProfiles() {
  for(const rdmagpu::standin::Profile& profile : rdmagpu::standin::profiles)
    std::printf("%-16s %s\n", profile.name, profile.text);
  std::puts("\nRDMAGPU_STANDIN_CUDA_PROFILE=NAME chooses one.");
  return 0;
}

/// What record and replay start: not for people.
int runWorker(const std::vector<std::string>& words) {
  if(words.size() == 6 && words[1] == "record")
    return recordInThisProcess({.folder = words[2],
                                .seed = number(words[3]).value_or(1),
                                .calls = number(words[4]).value_or(0),
                                .wholeLines = number(words[5]).value_or(0)});
  if(words.size() == 3 && words[1] == "probe")
    return probeInThisProcess(words[2]);
  if(words.size() == 3 && words[1] == "profile") {
    std::FILE* const file = std::fopen(words[2].c_str(), "w");
    const int end = file ? writeProfile(file) : workerCannot;
    return file && std::fclose(file) == 0 ? end : workerCannot;
  }
  if(words.size() == 5 && words[1] == "replay")
    return replayInThisProcess(words[2], words[3], words[4]);
  return fail("not a worker's command");
}

} // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words{arguments + 1, arguments + count};
  const bool wantsHelp = std::any_of(
      words.begin(), words.end(), [](const std::string& word) { return word == "--help" || word == "-h"; });
  if(words.empty() || wantsHelp) {
    std::fputs(usage, words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  if(words[0] == "path" && words.size() <= 2)
    return printPath(words.size() == 2 ? words[1] : "cuda");
  if(words[0] == "profiles" && words.size() == 1)
    return printProfiles();
  if(words[0] == "record")
    return runRecord(words);
  if(words[0] == "replay")
    return runReplay(words);
  if(words[0] == "profile" && words.size() == 1)
    return writeProfile(stdout);
  if(words[0] == "worker")
    return runWorker(words);
  return fail("unknown command " + words[0]);
}
