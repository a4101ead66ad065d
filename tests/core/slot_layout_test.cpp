#include <core/slot_layout.hpp>

#include <gtest/gtest.h>

namespace rdmagpu::core {
namespace {

TEST(SlotLayout, StrideIsTheFrameRoundedToTheGranule) {
  const auto layout = layOut("make", 8, 4'147'200, 65536);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->stride, 4'194'304U);
  EXPECT_EQ(layout->offset(0), 0U);
  EXPECT_EQ(layout->offset(7), 7U * 4'194'304);
  EXPECT_EQ(layout->totalBytes(), 8U * 4'194'304);
  EXPECT_EQ(layOut("make", 1, 65536, 65536)->stride, 65536U);
  EXPECT_EQ(layOut("make", 1, 65537, 65536)->stride, 131072U);
}

TEST(SlotLayout, EmptyRequestsAreRefused) {
  EXPECT_STREQ(layOut("make", 0, 1, 65536).error().codeName, "SlotCountZero");
  EXPECT_STREQ(layOut("make", 1, 0, 65536).error().codeName, "FrameBytesZero");
  EXPECT_STREQ(layOut("make", 1, 0, 65536).error().call, "make");
}

TEST(SlotLayout, OverflowNamesWhatWouldFit) {
  constexpr auto most = static_cast<std::size_t>(-1);
  for(const auto frame : {most, most - 65535, most / 2 + 1, (most / 2) / 4 + 65536}) {
    const auto layout = layOut("make", 4, frame, 65536);
    ASSERT_FALSE(layout) << frame;
    EXPECT_STREQ(layout.error().codeName, "SizeOverflow");
    EXPECT_EQ(layout.error().bytes, frame);
    EXPECT_TRUE(layOut("make", 4, layout.error().available, 65536));
  }
}

} // namespace
} // namespace rdmagpu::core
