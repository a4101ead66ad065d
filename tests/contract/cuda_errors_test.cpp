#include <base/hints.hpp>
#include <contract/cuda_driver.hpp>
#include <driver/cuda.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace rdmagpu::test {
namespace {

constexpr std::uint32_t lastCode = 999;

/// Codes that have a name, and no hint, and why not.
const std::map<std::uint32_t, const char*> withoutHint{
    {600, "CUDA_ERROR_NOT_READY is an answer to a question, and becomes no Error"}};

class CudaErrors : public OnCudaStandin {
protected:
  static Error failure(std::uint32_t code) {
    return CudaDriver::instance().functions.failure("cuAnyCall", static_cast<api::Status>(code), 0);
  }
};

TEST_F(CudaErrors, EveryCodeThatIsKnownHasHintsOfItsOwn) {
  int known = 0;
  for(std::uint32_t code = 1; code <= lastCode; ++code) {
    const Error error = failure(code);
    if(*error.codeName == '\0' || withoutHint.contains(code))
      continue;
    ++known;
    const Hint* hint = findHint(Origin::Cuda, error.call, error.code);
    ASSERT_TRUE(hint) << error.codeName;
    EXPECT_NE(hint->code, Hint::anyCode) << error.codeName << ": add a row to hints.def";
    EXPECT_STREQ(hint->codeName, error.codeName);
    EXPECT_STREQ(error.finding, hint->finding);
  }
  EXPECT_GT(known, 40);
}

TEST_F(CudaErrors, EveryCodeThatHasHintsHasAKind) {
  for(const Hint& hint : hintTable()) {
    if(hint.origin != Origin::Cuda || hint.code == Hint::anyCode)
      continue;
    const Error error = failure(static_cast<std::uint32_t>(hint.code));
    EXPECT_STREQ(error.codeName, hint.codeName);
    const bool internal = error.kind == Errc::Internal;
    EXPECT_EQ(internal, hint.code == 304 || hint.code == 401 || hint.code == 999) << hint.codeName;
  }
}

TEST_F(CudaErrors, CodeThatIsNotKnownIsToldWithWhereToLook) {
  const Error error = failure(998);
  EXPECT_EQ(error.kind, Errc::Internal);
  EXPECT_EQ(error.code, 998);
  EXPECT_FALSE(error.hints().empty());
  EXPECT_NE(error.message().find("998"), std::string::npos);
}

} // namespace
} // namespace rdmagpu::test
