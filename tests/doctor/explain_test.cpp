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

TEST(Explain, KnowsTheCodesOfEachVendorByTheirNames) {
  for(const char* code :
      {"VK_ERROR_INITIALIZATION_FAILED", "VK_ERROR_INVALID_EXTERNAL_HANDLE", "VK_ERROR_NOT_PERMITTED_KHR",
       "hipErrorNoDevice", "HSA_STATUS_ERROR_INVALID_ALLOCATION", "ZE_RESULT_ERROR_UNINITIALIZED",
       "NVAPI_NOT_SUPPORTED", "IBV_WC_RETRY_EXC_ERR", "IBV_WC_REM_OP_ERR"}) {
    const auto found = explain(std::string{"it says "} + code + ", twice");
    ASSERT_TRUE(found);
    ASSERT_FALSE(found->empty()) << code;
    EXPECT_TRUE(found->front().matched.ends_with(code)) << found->front().matched;
  }
}

TEST(Explain, OfACompletionTheStatusComesFirst) {
  const auto found = explain("ibv_poll_cq (RDMA WRITE) failed: IBV_WC_RNR_RETRY_EXC_ERR (13)");
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->empty());
  EXPECT_EQ(found->front().matched, "ibv_poll_cq IBV_WC_RNR_RETRY_EXC_ERR");
}

TEST(Explain, TakesAnyText) {
  EXPECT_TRUE(explain(""));
  EXPECT_TRUE(explain(std::string(100000, 'E')));
  EXPECT_TRUE(explain(std::string_view{"\0\xff\x1b[", 4}));
}

} // namespace
} // namespace rdmagpu
