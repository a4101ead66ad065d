#include <core/frame_clock.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace rdmagpu {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr FrameRate ntsc{60000, 1001};

TEST(FrameClock, WholeRatesFallOnWholeTimes) {
  EXPECT_EQ(frameTime({50, 1}, 0), 0ns);
  EXPECT_EQ(frameTime({50, 1}, 1), 20ms);
  EXPECT_EQ(frameTime({25, 1}, 25 * 3600), 1h);
  EXPECT_EQ(frameTime({1, 60}, 60), 1h);
}

TEST(FrameClock, RoundsDownToANanosecond) {
  EXPECT_EQ(frameTime(ntsc, 1), 16'683'333ns);
  EXPECT_EQ(frameTime(ntsc, 2), 33'366'666ns);
  EXPECT_EQ(frameTime(ntsc, 3), 50'050'000ns);
}

TEST(FrameClock, NtscDoesNotDriftInAYear) {
  // 60000 frames take 1001 seconds exactly.
  for(const std::uint64_t periods : {std::uint64_t{1}, std::uint64_t{86400}, std::uint64_t{31504}})
    EXPECT_EQ(frameTime(ntsc, 60000 * periods), std::chrono::seconds{1001 * periods});
  const std::uint64_t year = 60000 * std::uint64_t{31504};
  EXPECT_EQ(frameTime(ntsc, year + 1) - frameTime(ntsc, year), 16'683'333ns);
}

TEST(FrameClock, AnHourOfNtscHasItsFrames) {
  // 3600 s * 60000 / 1001 = 215784.2...: frame 215784 is due within the hour, the next is not.
  EXPECT_LE(frameTime(ntsc, 215784), 1h);
  EXPECT_GT(frameTime(ntsc, 215785), 1h);
}

TEST(FrameClock, ExtremeFractionsDoNotOverflow) {
  constexpr std::uint32_t most = 0xffffffff;
  EXPECT_EQ(frameTime({most, most}, most), std::chrono::seconds{most});
  EXPECT_EQ(frameTime({most, most}, std::uint64_t{most} + 7), std::chrono::seconds{std::uint64_t{most} + 7});
  EXPECT_EQ(frameTime({1, most}, 2), std::chrono::seconds{2 * std::uint64_t{most}});
  EXPECT_EQ(frameTime({most, 1}, std::uint64_t{most} * 9 - 1), 9s - 1ns);
}

} // namespace
} // namespace rdmagpu
