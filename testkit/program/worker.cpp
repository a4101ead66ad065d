#include <program/recorder.hpp>
#include <program/replayer.hpp>
#include <program/worker.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace rdmagpu::testkit {
namespace {

constexpr std::size_t enoughHits = 30;
constexpr std::size_t enoughColdHits = 4;
constexpr std::size_t mostProbeEpisodes = 60;
constexpr std::size_t mostColdProbeEpisodes = 5;

std::vector<std::pair<std::string, std::string>> readPatterns(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> patterns;
  std::ifstream file{path};
  std::string line;
  while(std::getline(file, line)) {
    std::istringstream words{line};
    auto& [pattern, reason] = patterns.emplace_back();
    std::getline(words >> pattern >> std::ws, reason);
  }
  return patterns;
}

LeftOut toLeftOut(const std::vector<std::pair<std::string, std::string>>& patterns) {
  LeftOut leftOut;
  for(const auto& [pattern, reason] : patterns)
    leftOut.add(pattern);
  return leftOut;
}

std::string describeMachine(const CudaApi& cuda) {
  int version = 0;
  cuda.driverGetVersion(&version);
  std::array<char, 128> name{};
  cuda.functions.deviceGetName(name.data(), static_cast<int>(name.size()), api::Device{});
  return "driver " + std::to_string(version) + ", " + name.data();
}

std::size_t granularityIn(const Facts& facts) {
  for(const auto& [name, value] : facts) {
    if(name == "granularity-minimum-rdma")
      return std::strtoull(value.c_str(), nullptr, 10);
  }
  return 0;
}

/// Counts the calls of one kind.
class HitCounter final : public Witness {
public:
  explicit HitCounter(const std::string& pattern) : m_pattern(&pattern) {}
  std::size_t hits() const noexcept { return m_hits; }

  void beginEpisode(std::size_t, const char*) override {}
  bool before(const Asked& asked) override {
    if(!asked.reused && matches(*m_pattern, asked.base()))
      ++m_hits;
    return !asked.reused;
  }
  bool after(const Asked&, const Answer&) override { return true; }
  void endEpisode() override {}

private:
  const std::string* m_pattern;
  std::size_t m_hits{};
};

} // namespace

int recordInThisProcess(const RecordOptions& options) {
  const CudaApi* cuda = openCuda();
  Recorder recorder{options.folder + "/full.txt", options.folder + "/trace.txt", options.wholeLines};
  if(!cuda || !recorder.good())
    return workerCannot;
  TraceHead head{.seed = options.seed, .leftOut = readPatterns(options.folder + "/left_out.txt")};
  const LeftOut leftOut = toLeftOut(head.leftOut);
  recorder.writeBoth(headText(head));
  Run run{*cuda, {.seed = options.seed}, leftOut, recorder};
  if(!run.start())
    return workerCannot;
  const Facts facts = gatherFacts(*cuda);
  recorder.writeBoth("machine " + describeMachine(*cuda) + "\n" + factsText(facts));
  const std::size_t granularity = granularityIn(facts);
  if(granularity == 0)
    return workerCannot;
  run.setGranularity(granularity);
  std::size_t made = 0;
  for(std::size_t number = 1; made < options.calls; ++number) {
    const std::size_t calls = run.episode(number);
    if(calls == 0)
      return workerLostDriver;
    made += calls;
    if(number % 25 == 0)
      std::fprintf(stderr, "  %zu of %zu calls\n", made, options.calls);
  }
  return workerGood;
}

int probeInThisProcess(const std::string& pattern) {
  const CudaApi* cuda = openCuda();
  if(!cuda)
    return workerCannot;
  LeftOut leftOut;
  for(const std::string& risky : riskyPatterns()) {
    if(risky != pattern)
      leftOut.add(risky);
  }
  HitCounter counter{pattern};
  const bool cold = needsColdEpisodes(pattern);
  Run run{*cuda, {.seed = 7, .onlyCold = cold}, leftOut, counter};
  if(!run.start())
    return workerCannot;
  const std::size_t granularity = granularityIn(gatherFacts(*cuda));
  if(granularity == 0)
    return workerCannot;
  run.setGranularity(granularity);
  const std::size_t episodes = cold ? mostColdProbeEpisodes : mostProbeEpisodes;
  for(std::size_t number = 1; number <= episodes; ++number) {
    if(run.episode(number) == 0)
      return workerLostDriver;
    if(counter.hits() >= (cold ? enoughColdHits : enoughHits))
      break;
  }
  std::printf("%zu times", counter.hits());
  return workerGood;
}

int replayInThisProcess(const std::string& tracePath, const std::string& fullPath,
                        const std::string& deadlyPath) {
  const auto trace = readTrace(tracePath);
  const CudaApi* cuda = openCuda();
  if(!trace || !cuda)
    return workerCannot;
  if(trace->head.generator != generatorVersion) {
    std::fprintf(stderr, "rdmagpu-testkit: the trace is of generator %d, this program has %d\n",
                 trace->head.generator, generatorVersion);
    return workerCannot;
  }
  const LeftOut leftOut = toLeftOut(trace->head.leftOut);
  const LeftOut deadly = toLeftOut(readPatterns(deadlyPath));
  Replayer replayer{*trace, fullPath, deadly};
  if(!replayer.good())
    return workerCannot;
  Run run{
      *cuda, {.seed = trace->head.seed, .granularity = granularityIn(trace->head.facts)}, leftOut, replayer};
  replayer.write(headText({.seed = trace->head.seed, .leftOut = trace->head.leftOut}));
  if(!run.start())
    return workerCannot;
  const Facts facts = gatherFacts(*cuda);
  replayer.write("machine " + describeMachine(*cuda) + "\n" + factsText(facts));
  replayer.compareFacts(facts);
  for(const RecordedEpisode& episode : trace->episodes) {
    if(episode.number != 0 && run.episode(episode.number) == 0)
      return workerLostDriver;
  }
  std::fputs(replayer.report().c_str(), stdout);
  return replayer.same() ? workerGood : workerDiffers;
}

int writeProfile(std::FILE* file) {
  const CudaApi* cuda = openCuda();
  if(!cuda)
    return workerCannot;
  if(const api::Status status = cuda->functions.init(0); status != api::Status::Success) {
    std::fprintf(stderr, "rdmagpu-testkit: cuInit: %u\n", static_cast<unsigned>(status));
    return workerCannot;
  }
  int count = 0;
  cuda->functions.deviceGetCount(&count);
  std::size_t total{};
  cuda->functions.deviceTotalMem(&total, api::Device{});
  std::fprintf(file, "machine %s\ndevices %d\nmemory %zu\n", describeMachine(*cuda).c_str(), count, total);
  std::fputs(factsText(gatherFacts(*cuda)).c_str(), file);
  constexpr unsigned youngestAttribute = 200; // more than the headers of 2025 know
  for(unsigned number = 1; number <= youngestAttribute; ++number) {
    int value = 0;
    const auto attribute = static_cast<api::DeviceAttribute>(number);
    if(cuda->functions.deviceGetAttribute(&value, attribute, api::Device{}) == api::Status::Success)
      std::fprintf(file, "attribute %u %d\n", number, value);
  }
  return workerGood;
}

} // namespace rdmagpu::testkit
