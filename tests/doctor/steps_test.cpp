#include "support/temp_tree.hpp"

#include <doctor/steps.hpp>

#include <gtest/gtest.h>

#include <string>

namespace rdmagpu::doctor {
namespace {

TEST(Steps, SurviveBeingWritten) {
  const std::vector<DoctorStep> steps{
      {.kind = StepKind::Device, .result = Answer::Yes, .gpu = "0000:01:00.0", .says = "NVIDIA H200"},
      {.kind = StepKind::Registration, .gpu = "0000:01:00.0", .peer = "rxe0", .route = Route::PeerMemory},
      {.kind = StepKind::Read,
       .result = Answer::No,
       .gpu = "0000:01:00.0",
       .peer = "0000:02:00.0",
       .route = Route::DmaBuf,
       .by = Agent::Device,
       .says = "two\nlines"}};
  const auto found = parseSteps(stepsText(steps));
  ASSERT_EQ(found.size(), steps.size());
  for(std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(found[i].kind, steps[i].kind);
    EXPECT_EQ(found[i].result, steps[i].result);
    EXPECT_EQ(found[i].gpu, steps[i].gpu);
    EXPECT_EQ(found[i].peer, steps[i].peer);
    EXPECT_EQ(found[i].route, steps[i].route);
    EXPECT_EQ(found[i].by, steps[i].by);
  }
  EXPECT_EQ(found[0].says, "NVIDIA H200");
  EXPECT_EQ(found[2].says, "two lines");
}

TEST(Steps, OfUnknownWordsAreNone) {
  for(const char* line :
      {"", "device", "device yes", "device yes - - -", "device maybe - - - none", "devices yes - - - none",
       "device yes - - road none", "device yes - - - somebody", "\xff\xff yes - - - none"})
    EXPECT_TRUE(parseSteps(line).empty()) << line;
  EXPECT_EQ(parseSteps("nonsense\ndevice yes - - - none\n").size(), 1U);
}

TEST(Steps, OfAFileAreNotBeyondNumber) {
  std::string text;
  for(int i = 0; i < 10000; ++i)
    text += "device yes - - - none\n";
  EXPECT_EQ(parseSteps(text).size(), 4096U);
}

TEST(Steps, OfARecordedMachineAreNotTriedHere) {
  const test::TempTree tree;
  tree.write("/rdmagpu/steps", "device yes 0000:09:00.0 - - none x\n");
  const auto recorded = diagnose({.root = tree.root()});
  ASSERT_TRUE(recorded);
  ASSERT_EQ(recorded->steps.size(), 1U);
  EXPECT_EQ(recorded->steps.front().gpu, "0000:09:00.0");
}

} // namespace
} // namespace rdmagpu::doctor
