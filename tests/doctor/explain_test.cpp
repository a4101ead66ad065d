#include <rdmagpu/doctor.hpp>

#include <gtest/gtest.h>

#include <string>

namespace rdmagpu {
namespace {

TEST(Explain, KnowsEveryRowOfTheHints) {
  for(const Hint& hint : hintTable()) {
    if(!*hint.call && hint.code == Hint::anyCode)
      continue; // a row for whatever has no row
    const std::string call = std::string{hint.call}.substr(0, std::string{hint.call}.find(" ("));
    const std::string text = call + " " + (hint.code == Hint::anyCode ? "" : hint.codeName);
    const auto found = explain(text);
    ASSERT_TRUE(found);
    ASSERT_FALSE(found->empty()) << text;
    EXPECT_FALSE(found->front().causes.empty()) << text;
  }
}

TEST(Explain, TakesTheNumberForTheName) {
  const auto byName = explain("ibv_reg_dmabuf_mr EOPNOTSUPP");
  const auto byNumber = explain("ibv_reg_dmabuf_mr returned 95");
  ASSERT_TRUE(byName && byNumber);
  ASSERT_FALSE(byNumber->empty());
  EXPECT_EQ(byName->front().matched, byNumber->front().matched);
}

TEST(Explain, ANumberAloneIsNobodys) {
  const auto found = explain("14");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

TEST(Explain, TakesAnyText) {
  EXPECT_TRUE(explain(""));
  EXPECT_TRUE(explain(std::string(100000, 'E')));
  EXPECT_TRUE(explain(std::string_view{"\0\xff\x1b[", 4}));
}

} // namespace
} // namespace rdmagpu
