// Staged buffers in a forked child.
#include <core/staged_buffer_fixture.hpp>
#include <support/sanitizer.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace rdmagpu::stagedtest {
namespace {

TEST(StagedBuffer, ForkedChildCopiesNothingAndDoesNotWait) {
  std::optional<StagedBuffer> staged{makeStaged(hostConfig(SlotPath::Staged))};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    // Clang's knows no thread of the parent's in the child, and ends it at the detach.
    if(!test::threadSanitizer)
      staged.reset();
    _exit(0);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  capture(*staged, 1);
  EXPECT_TRUE(inApplication(*staged, takeNext(staged->ring())) == frameOf(1, frameBytes));
}

} // namespace
} // namespace rdmagpu::stagedtest
