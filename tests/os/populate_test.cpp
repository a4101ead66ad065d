#include <os/mapping.hpp>
#include <os/memory_map.hpp>
#include <os/populate.hpp>
#include <support/log_capture.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>

namespace {

std::atomic<bool> refuseThreads{false};

} // namespace

// The one that libstdc++ finds, before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  if(refuseThreads)
    return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}

namespace rdmagpu::os {
namespace {

std::size_t resident(const Mapping& memory) {
  const auto bytes = residentBytes(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size());
  EXPECT_TRUE(bytes);
  return bytes ? *bytes : 0;
}

TEST(Populate, MakesEveryPagePresent) {
  for(const std::size_t bytes :
      {std::size_t{65536}, std::size_t{9} << 20U, (std::size_t{40} << 20U) + 65536}) {
    const auto memory = Mapping::make(-1, bytes, 65536, Mapping::Pages::Normal);
    ASSERT_TRUE(memory);
    ASSERT_EQ(resident(*memory), 0U);
    ASSERT_TRUE(populate(memory->data(), bytes));
    EXPECT_EQ(resident(*memory), bytes);
  }
}

TEST(Populate, GoesOnAloneWhereNoThreadCanBeStarted) {
  if(std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "one CPU: populate() starts no thread here";
  const test::LogCapture log;
  const auto memory = Mapping::make(-1, 64U << 20U, 65536, Mapping::Pages::Normal);
  ASSERT_TRUE(memory);
  refuseThreads = true;
  const auto done = populate(memory->data(), memory->size());
  refuseThreads = false;
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(resident(*memory), memory->size());
  ASSERT_EQ(log.errors().size(), 1U);
  EXPECT_STREQ(log.errors().front().call, "pthread_create");
}

TEST(Populate, FailureIsToldWithItsSize) {
  constexpr std::size_t bytes = 131072;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* data = static_cast<std::byte*>(memory);
  ASSERT_EQ(munmap(data + bytes / 2, bytes / 2), 0);
  const auto failed = populate(data, bytes);
  munmap(memory, bytes / 2);
  ASSERT_FALSE(failed);
  EXPECT_STREQ(failed.error().call, "madvise");
  EXPECT_STREQ(failed.error().codeName, "ENOMEM");
  EXPECT_EQ(failed.error().bytes, bytes);
}

} // namespace
} // namespace rdmagpu::os
