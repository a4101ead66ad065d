#include <base/library_error.hpp>
#include <os/error.hpp>
#include <rdmagpu/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <tuple>

namespace rdmagpu {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Error, DefaultIsNoError) {
  const Error none;
  EXPECT_EQ(none.kind, Errc::None);
  EXPECT_EQ(none.message(), "no error");
  EXPECT_TRUE(none.hints().empty());
}

TEST(Error, LibraryMessageGivesTheRuleAndTheNumbers) {
  const Error e = libraryError("RdmaGpuBuffer::upload", LibraryCode::SlotOutOfRange, 9, 8);
  EXPECT_EQ(e.message(),
            "RdmaGpuBuffer::upload: the slot index must be below slotCount; asked 9, available 8");
  EXPECT_EQ(e.kind, Errc::InvalidArgument);
  EXPECT_STREQ(e.codeName, "SlotOutOfRange");
}

TEST(Error, UnknownSystemCodeKeepsItsNumber) {
  const Error e = os::error("mlock", 4000);
  EXPECT_EQ(e.kind, Errc::Internal);
  EXPECT_STREQ(e.codeName, "");
  EXPECT_THAT(e.message(), HasSubstr("mlock failed: Os (4000"));
}

TEST(Error, MessageSaysWhichDeviceAndSlot) {
  Error e = os::error("open /dev/udmabuf", EACCES);
  EXPECT_THAT(e.message(), Not(HasSubstr("slot")));
  e.slot = 3;
  e.device = 1;
  EXPECT_THAT(e.message(), HasSubstr("device 1; slot 3"));
}

TEST(Error, BudgetOfZeroIsShown) {
  EXPECT_THAT(libraryError("make", LibraryCode::BudgetExceeded, 5, 0).message(),
              HasSubstr("asked 5, available 0"));
}

TEST(Error, OrdinalThatIsNoGpusIsNamedWithTheRule) {
  Error error = libraryError("make", LibraryCode::OrdinalNegative, 0, 2);
  error.device = -3;
  EXPECT_EQ(
      error.message(),
      "make: the GPU's ordinal must be 0 or more, and below the number of GPUs here; asked -3, available 2");
  EXPECT_THAT(libraryError("make", LibraryCode::DeviceOutOfRange, 0, 0).message(),
              HasSubstr("asked 0, available 0"));
}

TEST(Error, MessageTellsTheTotalWhereNobodyTellsWhatIsFree) {
  Error e{.kind = Errc::OutOfMemory,
          .origin = Origin::Cuda,
          .code = 2,
          .call = "cuMemCreate",
          .bytes = 5,
          .total = 9};
  EXPECT_THAT(e.message(), HasSubstr("; asked 5, of 9 in all"));
  e.available = 3;
  EXPECT_THAT(e.message(), HasSubstr("; asked 5, available 3"));
  EXPECT_THAT(e.message(), Not(HasSubstr("in all")));
}

TEST(Error, MessageNamesADescriptorOf0Too) {
  Error e = libraryError("call", LibraryCode::ShareForeign);
  EXPECT_THAT(e.message(), Not(HasSubstr("descriptor 0")));
  e.fd = 0;
  EXPECT_THAT(e.message(), HasSubstr("; descriptor 0"));
}

TEST(Error, EveryLibraryCodeHasARuleAndAFinding) {
  EXPECT_EQ(libraryRule(0), nullptr);
  EXPECT_EQ(libraryRule(-1), nullptr);
  std::int64_t code = 1;
  for(; libraryRule(code); ++code) {
    const Error e = libraryError("call", static_cast<LibraryCode>(code));
    EXPECT_EQ(e.code, code);
    EXPECT_NE(e.kind, Errc::None) << e.codeName;
    EXPECT_STRNE(e.finding, "") << e.codeName;
    EXPECT_STRNE(e.codeName, "");
  }
  EXPECT_GT(code, 20);
}

TEST(Error, EveryLibraryCodeHasAHint) {
  for(std::int64_t code = 1; libraryRule(code); ++code) {
    Error e = libraryError("call", static_cast<LibraryCode>(code));
    EXPECT_FALSE(e.hints().empty()) << e.codeName << ": add a row to hints.def";
  }
}

TEST(Error, EveryNameIsKnown) {
  for(int k = 0; k <= static_cast<int>(Errc::Internal); ++k)
    EXPECT_THAT(name(static_cast<Errc>(k)), Not(HasSubstr("?")));
  for(int o = 0; o <= static_cast<int>(Origin::CuFile); ++o)
    EXPECT_THAT(name(static_cast<Origin>(o)), Not(HasSubstr("?")));
}

TEST(Hints, CodesOfAnotherOriginDoNotMatch) {
  Error e = os::error("mlock", ENOMEM);
  e.origin = Origin::Hip;
  EXPECT_TRUE(e.hints().empty());
}

TEST(Hints, EveryRowIsReachableAndSaysSomething) {
  std::set<std::tuple<Origin, std::string, std::int64_t>> seen;
  for(const Hint& hint : hintTable()) {
    EXPECT_TRUE(seen.insert({hint.origin, hint.call, hint.code}).second) << hint.call << " " << hint.codeName;
    EXPECT_FALSE(seen.count({hint.origin, "", hint.code}) && *hint.call)
        << "hidden by a general row: " << hint.call;
    EXPECT_STRNE(hint.finding, "");
    ASSERT_FALSE(hint.sentences.empty()) << hint.call;
    for(const std::string sentence : hint.sentences)
      EXPECT_EQ(sentence.back(), '.') << sentence;
    if(hint.origin == Origin::Os && *hint.call && hint.code != Hint::anyCode) {
      const Error e = os::error(hint.call, static_cast<int>(hint.code));
      EXPECT_STREQ(e.codeName, hint.codeName);
      EXPECT_STREQ(e.finding, hint.finding);
    }
#ifndef _WIN32
    if(hint.origin == Origin::Verbs && hint.code != Hint::anyCode) {
      const Error e = os::error(Origin::Verbs, hint.call, static_cast<int>(hint.code));
      EXPECT_STREQ(e.codeName, hint.codeName);
      EXPECT_STREQ(e.finding, hint.finding);
    }
#endif
    if(hint.origin == Origin::Library) {
      const Error e = libraryError("x", static_cast<LibraryCode>(hint.code));
      EXPECT_STREQ(e.codeName, hint.codeName);
      EXPECT_STREQ(e.finding, hint.finding);
    }
  }
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good{5};
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(*good, 5);
  const Result<int> bad{libraryError("x", LibraryCode::SizeOverflow)};
  ASSERT_FALSE(bad);
  EXPECT_STREQ(bad.error().codeName, "SizeOverflow");
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> held{std::make_unique<int>(7)};
  const std::unique_ptr<int> taken = *std::move(held);
  EXPECT_EQ(*taken, 7);
}

TEST(Result, OfNothingIsSuccessUnlessGivenAnError) {
  EXPECT_TRUE(Result<void>{});
  EXPECT_FALSE(Result<void>{libraryError("x", LibraryCode::SizeOverflow)});
}

} // namespace
} // namespace rdmagpu
