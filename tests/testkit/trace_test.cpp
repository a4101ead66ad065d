#include <testkit/support.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rdmagpu::testkit {
namespace {

class TraceFile : public testing::Test {
protected:
  /// Two episodes of two calls, with whole lines for the first three calls.
  void record() const {
    Recorder recorder{full(), path(), 3};
    ASSERT_TRUE(recorder.good());
    recorder.writeBoth(
        headText({.seed = 9, .leftOut = {{"cuMemRelease/stale-handle", "ends with signal 11"}}}));
    recorder.writeBoth(factsText({{"attribute-116", "1"}}));
    for(const std::size_t episode : {1U, 2U}) {
      recorder.beginEpisode(episode, "usual");
      EXPECT_TRUE(tell(recorder, create(), good));
      EXPECT_TRUE(tell(recorder, ask(), one));
      recorder.endEpisode();
    }
  }
  std::string path() const { return m_tree.root() + "/trace.txt"; }
  std::string full() const { return m_tree.root() + "/full.txt"; }
  const test::TempTree& tree() const { return m_tree; }

private:
  test::TempTree m_tree;
};

TEST_F(TraceFile, HoldsWhatWasRecorded) {
  record();
  const auto trace = readTrace(path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->head.generator, generatorVersion);
  EXPECT_EQ(trace->head.seed, 9U);
  ASSERT_EQ(trace->head.leftOut.size(), 1U);
  EXPECT_EQ(trace->head.leftOut.front().first, "cuMemRelease/stale-handle");
  EXPECT_EQ(trace->head.leftOut.front().second, "ends with signal 11");
  EXPECT_EQ(trace->head.facts, (Facts{{"attribute-116", "1"}}));
  ASSERT_EQ(trace->episodes.size(), 2U);
  const RecordedEpisode& last = trace->episodes.back();
  EXPECT_EQ(last.number, 2U);
  EXPECT_EQ(last.statuses, "..");
  EXPECT_EQ(last.lines, std::vector<std::string>{"cuMemCreate/good bytes=5 -> 0"});
  EXPECT_EQ(last.digest, trace->episodes.front().digest) << "the same calls";
}

TEST_F(TraceFile, FullOneHoldsEveryCallInWords) {
  record();
  const auto trace = readTrace(full());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->episodes.size(), 2U);
  EXPECT_EQ(trace->episodes.back().lines,
            (std::vector<std::string>{"cuMemCreate/good bytes=5 -> 0",
                                      "cuDeviceGetAttribute/good attribute=116 -> 0 1"}));
}

TEST_F(TraceFile, RecordingThatWasCutShortEndsWithItsLastWholeEpisode) {
  record();
  std::ofstream{path(), std::ios::app} << "episode 3 usual\ncuMemCreate/good bytes=5";
  const auto trace = readTrace(path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->episodes.size(), 2U);
}

TEST_F(TraceFile, AnythingElseIsRefused) {
  EXPECT_FALSE(readTrace(path()));
  tree().write("/trace.txt", "rdmagpu driver trace, format 2\n");
  EXPECT_FALSE(readTrace(path()));
}

TEST_F(TraceFile, WithoutAWholeEpisodeIsRefused) {
  const std::string head = headText({.seed = 9, .leftOut = {}});
  tree().write("/trace.txt", head);
  EXPECT_FALSE(readTrace(path()));
  tree().write("/trace.txt", head + "episode 1 usual\ncuMemCreate/good bytes=5 -> 0\n");
  EXPECT_FALSE(readTrace(path()));
}

/// What the stand-in is certified by: a file that was cut short would be replayed without a divergence too.
TEST(RecordedTraces, AreOfAHundredThousandCallsAndEndWhole) {
  std::size_t traces = 0;
  for(const auto& entry : std::filesystem::directory_iterator{RDMAGPU_TRACES}) {
    if(entry.path().extension() != ".txt") // what a replay has left there
      continue;
    const auto trace = readTrace(entry.path().string());
    ASSERT_TRUE(trace) << entry.path();
    std::ptrdiff_t made = 0;
    for(const RecordedEpisode& episode : trace->episodes) {
      const auto calls = std::ssize(episode.statuses);
      made += calls - std::count(episode.statuses.begin(), episode.statuses.end(), notMade);
    }
    EXPECT_GE(made, 100'000) << entry.path();
    EXPECT_EQ(trace->episodes.back().digest.size(), 8U) << entry.path();
    ++traces;
  }
  EXPECT_GE(traces, 1U);
}

TEST_F(TraceFile, CallThatDoesNotReturnIsTheLastThingInTheFullOne) {
  {
    Recorder recorder{full(), path(), 3};
    recorder.beginEpisode(1, "usual");
    EXPECT_TRUE(recorder.before(create()));
  }
  std::ifstream file{full()};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_EQ(text, "episode 1 usual\ncuMemCreate/good bytes=5");
}

} // namespace
} // namespace rdmagpu::testkit
