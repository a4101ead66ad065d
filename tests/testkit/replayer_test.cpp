#include <testkit/support.hpp>

namespace rdmagpu::testkit {
namespace {

/// A recorded episode of two calls, create and ask, that went well.
class ReplayedEpisode : public testing::Test {
protected:
  /// Compares with an episode that was recorded with so many whole lines.
  Replayer& replay(std::size_t wholeLines) {
    const std::string path = m_tree.root() + "/trace.txt";
    {
      Recorder recorder{m_tree.root() + "/full.txt", path, wholeLines};
      recorder.writeBoth(headText({}) + factsText({{"attribute-116", "1"}}));
      recorder.beginEpisode(1, "usual");
      EXPECT_TRUE(tell(recorder, create(), good));
      EXPECT_TRUE(tell(recorder, ask(), one));
      recorder.endEpisode();
    }
    m_trace = readTrace(path);
    EXPECT_TRUE(m_trace);
    m_replayer.emplace(*m_trace, m_tree.root() + "/replayed.txt", m_deadly);
    m_replayer->beginEpisode(1, "usual");
    return *m_replayer;
  }
  bool reports(const std::string& text) const { return m_replayer->report().find(text) != std::string::npos; }
  LeftOut& deadly() { return m_deadly; }

private:
  test::TempTree m_tree;
  LeftOut m_deadly;
  std::optional<Trace> m_trace;
  std::optional<Replayer> m_replayer;
};

TEST_F(ReplayedEpisode, ThatIsTheSameHasNoDivergence) {
  for(const std::size_t lines : {0U, 2U}) {
    Replayer& replayer = replay(lines);
    EXPECT_TRUE(tell(replayer, create(), good));
    EXPECT_TRUE(tell(replayer, ask(), one));
    replayer.endEpisode();
    EXPECT_TRUE(replayer.same()) << replayer.report();
    EXPECT_TRUE(reports("2 calls made"));
  }
}

TEST_F(ReplayedEpisode, EndsWhereOneDriverMadeSomethingAndTheOtherDidNot) {
  Replayer& replayer = replay(2);
  EXPECT_FALSE(tell(replayer, create(), invalid));
  replayer.endEpisode();
  EXPECT_FALSE(replayer.same());
  EXPECT_TRUE(reports("expected  cuMemCreate/good bytes=5 -> 0"));
  EXPECT_TRUE(reports("got       cuMemCreate/good bytes=5 -> 1"));
  EXPECT_TRUE(reports("1  cuMemCreate/good"));
}

TEST_F(ReplayedEpisode, GoesOnAfterADifferenceThatChangesNothing) {
  Replayer& replayer = replay(0);
  EXPECT_TRUE(tell(replayer, create(), good));
  EXPECT_TRUE(tell(replayer, ask(), unsupported));
  replayer.endEpisode();
  EXPECT_FALSE(replayer.same());
  EXPECT_TRUE(reports("expected  status ."));
}

TEST_F(ReplayedEpisode, ValueIsComparedInWordsOrByTheDigest) {
  for(const std::size_t lines : {0U, 2U}) {
    Replayer& replayer = replay(lines);
    EXPECT_TRUE(tell(replayer, create(), good));
    EXPECT_TRUE(tell(replayer, ask(), zero));
    replayer.endEpisode();
    EXPECT_FALSE(replayer.same());
    EXPECT_TRUE(
        reports(lines == 0 ? "values of an episode" : "cuDeviceGetAttribute/good attribute=116 -> 0 1"));
  }
}

TEST_F(ReplayedEpisode, ThatIsShorterDiffers) {
  Replayer& replayer = replay(2);
  EXPECT_TRUE(tell(replayer, create(), good));
  replayer.endEpisode();
  EXPECT_FALSE(replayer.same());
  EXPECT_TRUE(reports("length of an episode"));
}

TEST_F(ReplayedEpisode, CallThatCannotBeMadeHereIsNotCompared) {
  deadly().add("cuDeviceGetAttribute/*");
  Replayer& replayer = replay(2);
  EXPECT_TRUE(tell(replayer, create(), good));
  EXPECT_FALSE(replayer.before(ask()));
  replayer.endEpisode();
  EXPECT_TRUE(replayer.same()) << replayer.report();
  EXPECT_TRUE(reports("1 not made"));
}

TEST_F(ReplayedEpisode, FactsAreComparedByName) {
  Replayer& replayer = replay(2);
  replayer.compareFacts({{"attribute-116", "1"}, {"attribute-999", "7"}});
  EXPECT_TRUE(replayer.same());
  replayer.compareFacts({{"attribute-116", "0"}});
  EXPECT_FALSE(replayer.same());
  EXPECT_TRUE(reports("fact attribute-116"));
}

} // namespace
} // namespace rdmagpu::testkit
