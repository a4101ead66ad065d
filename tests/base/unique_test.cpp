#include <base/unique.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

namespace rdmagpu {
namespace {

std::vector<int>& closed() {
  static std::vector<int> handles;
  return handles;
}

struct Traits {
  using Type = int;
  static int empty() noexcept { return -1; }
  static void close(int handle) noexcept { closed().push_back(handle); }
};
using Handle = Unique<Traits>;

class UniqueHandle : public testing::Test {
protected:
  void SetUp() override { closed().clear(); }
};

static_assert(!std::is_copy_constructible_v<Handle>);
static_assert(std::is_nothrow_move_constructible_v<Handle>);

TEST_F(UniqueHandle, ClosesOnceZeroIncluded) {
  { const Handle zero{0}; }
  EXPECT_EQ(closed(), std::vector<int>{0});
}

TEST_F(UniqueHandle, EmptyClosesNothing) {
  {
    const Handle empty;
    EXPECT_FALSE(empty);
  }
  EXPECT_TRUE(closed().empty());
}

TEST_F(UniqueHandle, MoveTransfersAndAssignmentClosesTheOld) {
  {
    Handle a{1};
    Handle b{2};
    b = std::move(a);
    EXPECT_EQ(closed(), std::vector<int>{2});
    EXPECT_EQ(b.get(), 1);
  }
  EXPECT_EQ(closed(), (std::vector<int>{2, 1}));
}

TEST_F(UniqueHandle, ReleaseGivesUpOwnership) {
  {
    Handle a{3};
    EXPECT_EQ(a.release(), 3);
    EXPECT_FALSE(a);
  }
  EXPECT_TRUE(closed().empty());
}

} // namespace
} // namespace rdmagpu
