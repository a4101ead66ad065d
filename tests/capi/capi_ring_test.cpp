#include "capi_support.hpp"

#include <thread>
#include <vector>

namespace rdmagpu::capitest {
namespace {

constexpr std::int64_t ample = 60'000'000'000;

Owned<rdmagpu_ring> makeRing(std::uint32_t slots, std::int32_t policy = RDMAGPU_RING_FIFO) {
  rdmagpu_ring* ring = nullptr;
  EXPECT_EQ(rdmagpu_ring_create(slots, policy, &ring, nullptr), RDMAGPU_OK);
  return Owned<rdmagpu_ring>{ring};
}

rdmagpu_ring_counters countersOf(const rdmagpu_ring* ring) {
  rdmagpu_ring_counters counters = RDMAGPU_INIT(rdmagpu_ring_counters);
  EXPECT_EQ(rdmagpu_ring_counters_of(ring, &counters, nullptr), RDMAGPU_OK);
  return counters;
}

TEST(CapiRing, HandsFramesOverBetweenThreads) {
  constexpr std::uint64_t frames = 2000;
  const auto ring = makeRing(3);
  std::thread producer{[&] {
    for(std::uint64_t i = 0; i < frames; ++i) {
      std::uint32_t slot{};
      ASSERT_EQ(rdmagpu_ring_acquire(ring.get(), &slot, ample), RDMAGPU_RING_OK);
      ASSERT_EQ(rdmagpu_ring_publish(ring.get(), slot, static_cast<std::int64_t>(i), 10 + i, 10 + i, {}),
                RDMAGPU_RING_OK);
    }
    rdmagpu_ring_close_producer(ring.get());
  }};
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  std::uint64_t taken = 0;
  while(rdmagpu_ring_take(ring.get(), &frame, ample) == RDMAGPU_RING_OK) {
    EXPECT_EQ(frame.sequence, taken);
    EXPECT_EQ(frame.timestamp, static_cast<std::int64_t>(taken));
    EXPECT_EQ(frame.bytes, 10 + taken);
    EXPECT_EQ(frame.bytes_ready, frame.bytes);
    ++taken;
    ASSERT_EQ(rdmagpu_ring_release(ring.get(), frame.slot, {}), RDMAGPU_RING_OK);
  }
  producer.join();
  EXPECT_EQ(taken, frames);
  EXPECT_EQ(countersOf(ring.get()).published, frames);
  EXPECT_EQ(countersOf(ring.get()).taken, frames);
  EXPECT_EQ(rdmagpu_ring_take(ring.get(), &frame, 0), RDMAGPU_RING_CLOSED);
}

TEST(CapiRing, AFrameGrowsWhileItIsRead) {
  const auto ring = makeRing(1);
  std::uint32_t slot = 9;
  ASSERT_EQ(rdmagpu_ring_acquire(ring.get(), &slot, 0), RDMAGPU_RING_OK);
  ASSERT_EQ(rdmagpu_ring_publish(ring.get(), slot, 0, 100, 10, {}), RDMAGPU_RING_OK);
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  ASSERT_EQ(rdmagpu_ring_take(ring.get(), &frame, 0), RDMAGPU_RING_OK);
  EXPECT_EQ(frame.bytes_ready, 10U);
  EXPECT_EQ(rdmagpu_ring_wait_bytes(ring.get(), slot, 50, 1000), RDMAGPU_RING_EMPTY);
  ASSERT_EQ(rdmagpu_ring_advance(ring.get(), slot, 60), RDMAGPU_RING_OK);
  EXPECT_EQ(rdmagpu_ring_wait_bytes(ring.get(), slot, 50, 0), RDMAGPU_RING_OK);
  EXPECT_EQ(rdmagpu_ring_bytes_ready(ring.get(), slot), 60U);
  EXPECT_EQ(rdmagpu_ring_advance(ring.get(), slot, 101), RDMAGPU_RING_MISUSE);
}

TEST(CapiRing, NewestSkipsAndCountsTheOthers) {
  const auto ring = makeRing(3, RDMAGPU_RING_NEWEST);
  for(int i = 0; i < 3; ++i) {
    std::uint32_t slot{};
    ASSERT_EQ(rdmagpu_ring_acquire(ring.get(), &slot, 0), RDMAGPU_RING_OK);
    ASSERT_EQ(rdmagpu_ring_publish(ring.get(), slot, i, 1, 1, {}), RDMAGPU_RING_OK);
  }
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  ASSERT_EQ(rdmagpu_ring_take(ring.get(), &frame, 0), RDMAGPU_RING_OK);
  EXPECT_EQ(frame.timestamp, 2);
  EXPECT_EQ(countersOf(ring.get()).drops, 2U);
}

TEST(CapiRing, CountsAndClosesAsCppDoes) {
  const auto ring = makeRing(2);
  rdmagpu_ring_count_drop(ring.get());
  rdmagpu_ring_count_underrun(ring.get());
  EXPECT_EQ(countersOf(ring.get()).drops, 1U);
  EXPECT_EQ(countersOf(ring.get()).underruns, 1U);
  std::uint32_t slot{};
  ASSERT_EQ(rdmagpu_ring_acquire(ring.get(), &slot, 0), RDMAGPU_RING_OK);
  rdmagpu_ring_close_consumer(ring.get());
  rdmagpu_ring_notify(ring.get());
  EXPECT_EQ(rdmagpu_ring_publish(ring.get(), slot, 0, 1, 1, {}), RDMAGPU_RING_CLOSED);
  EXPECT_EQ(rdmagpu_ring_abandon(ring.get(), slot), RDMAGPU_RING_OK);
}

TEST(CapiRing, ASlotChangesHandsWhenItsCompletionIsDone) {
  const auto ring = makeRing(1);
  bool done = false;
  const rdmagpu_completion completion{&done, [](void* context) { return *static_cast<bool*>(context); }};
  std::uint32_t slot{};
  ASSERT_EQ(rdmagpu_ring_acquire(ring.get(), &slot, 0), RDMAGPU_RING_OK);
  ASSERT_EQ(rdmagpu_ring_publish(ring.get(), slot, 0, 1, 1, completion), RDMAGPU_RING_OK);
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  EXPECT_EQ(rdmagpu_ring_take(ring.get(), &frame, 0), RDMAGPU_RING_EMPTY);
  done = true;
  EXPECT_EQ(rdmagpu_ring_take(ring.get(), &frame, 0), RDMAGPU_RING_OK);
}

TEST(CapiRing, BadArgumentsAreToldAndTakeNothing) {
  rdmagpu_ring* none = nullptr;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return rdmagpu_ring_create(0, 0, &none, e); }).code_name,
               "SlotCountZero");
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return rdmagpu_ring_create(2, 7, &none, e); }).code_name,
               "ValueUnknown");
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(rdmagpu_ring_acquire(nullptr, nullptr, 0), RDMAGPU_RING_MISUSE);
  EXPECT_EQ(rdmagpu_ring_bytes_ready(nullptr, 0), 0U);
  rdmagpu_ring_destroy(nullptr);
  rdmagpu_ring_count_drop(nullptr);
  rdmagpu_ring_count_underrun(nullptr);
  rdmagpu_ring_close_producer(nullptr);
  rdmagpu_ring_close_consumer(nullptr);
  rdmagpu_ring_notify(nullptr);
  const auto ring = makeRing(1);
  EXPECT_EQ(rdmagpu_ring_acquire(ring.get(), nullptr, 0), RDMAGPU_RING_MISUSE);
  std::uint32_t slot{};
  ASSERT_EQ(rdmagpu_ring_acquire(ring.get(), &slot, 0), RDMAGPU_RING_OK);
  ASSERT_EQ(rdmagpu_ring_publish(ring.get(), slot, 0, 1, 1, {}), RDMAGPU_RING_OK);
  rdmagpu_frame withoutSize{};
  EXPECT_EQ(rdmagpu_ring_take(ring.get(), &withoutSize, 0), RDMAGPU_RING_MISUSE);
  EXPECT_EQ(countersOf(ring.get()).taken, 0U);
}

/// Host memory, whose copies are done at once, and the software device.
class CapiCopies : public testing::TestWithParam<std::int32_t> {
protected:
  Owned<rdmagpu_buffer> buffer = [] {
    rdmagpu_config config = hostConfig();
    config.api = GetParam();
    return makeBuffer(config);
  }();
  Owned<rdmagpu_copy_queue> queue = [this] {
    rdmagpu_copy_queue* made = nullptr;
    EXPECT_EQ(rdmagpu_copy_queue_create(buffer.get(), nullptr, &made, nullptr), RDMAGPU_OK);
    return Owned<rdmagpu_copy_queue>{made};
  }();
};

TEST_P(CapiCopies, BytesArriveAndASlotChangesHandsWhenTheyHave) {
  std::vector<unsigned char> in(5000);
  rdmagpu_poison(in.data(), in.size(), 3);
  const auto ring = makeRing(3);
  std::uint32_t slot{};
  ASSERT_EQ(rdmagpu_ring_acquire(ring.get(), &slot, 0), RDMAGPU_RING_OK);
  rdmagpu_copy copy{};
  EXPECT_TRUE(rdmagpu_copy_done(&copy));
  ASSERT_EQ(rdmagpu_copy_queue_upload(queue.get(), slot, 0, in.data(), in.size(), &copy, nullptr),
            RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_ring_publish(ring.get(), slot, 0, in.size(), in.size(), rdmagpu_copy_completion(&copy)),
            RDMAGPU_RING_OK);
  ASSERT_EQ(rdmagpu_copy_wait(&copy, nullptr), RDMAGPU_OK);
  EXPECT_TRUE(rdmagpu_copy_done(&copy));
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  ASSERT_EQ(rdmagpu_ring_take(ring.get(), &frame, ample), RDMAGPU_RING_OK);
  rdmagpu_copy_release(&copy);
  rdmagpu_copy_release(&copy); // then it is none

  std::vector<unsigned char> out(in.size());
  ASSERT_EQ(rdmagpu_copy_queue_download(queue.get(), frame.slot, 0, out.data(), out.size(), nullptr, nullptr),
            RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_copy_queue_finish(queue.get(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(in, out);
}

TEST_P(CapiCopies, ARefusedCopyLeavesNone) {
  rdmagpu_copy copy{};
  unsigned char byte{};
  const auto refused = [&](auto call, const char* code) { EXPECT_STREQ(failureOf(call).code_name, code); };
  refused([&](rdmagpu_error* e) { return rdmagpu_copy_queue_upload(queue.get(), 9, 0, &byte, 1, &copy, e); },
          "SlotOutOfRange");
  refused(
      [&](rdmagpu_error* e) {
        return rdmagpu_copy_queue_download(queue.get(), 0, 1 << 20, &byte, 1, &copy, e);
      },
      "RangeOutOfSlot");
  refused(
      [&](rdmagpu_error* e) { return rdmagpu_copy_queue_upload(queue.get(), 0, 0, nullptr, 1, &copy, e); },
      "PointerNull");
  refused([&](rdmagpu_error* e) { return rdmagpu_copy_queue_upload(nullptr, 0, 0, &byte, 1, &copy, e); },
          "PointerNull");
  refused([&](rdmagpu_error* e) { return rdmagpu_copy_queue_finish(nullptr, e); }, "PointerNull");
  for(const std::uint64_t word : copy.opaque)
    EXPECT_EQ(word, 0U);
  EXPECT_EQ(rdmagpu_copy_completion(&copy).done, nullptr);
  EXPECT_EQ(rdmagpu_copy_wait(nullptr, nullptr), RDMAGPU_OK);
  rdmagpu_copy_release(nullptr);
  rdmagpu_copy_queue_destroy(nullptr);
}

TEST_P(CapiCopies, ACopyOutlivesItsQueueAndBuffer) {
  const unsigned char byte = 1;
  rdmagpu_copy copy{};
  ASSERT_EQ(rdmagpu_copy_queue_upload(queue.get(), 0, 0, &byte, 1, &copy, nullptr), RDMAGPU_OK);
  queue.reset();
  buffer.reset();
  EXPECT_TRUE(rdmagpu_copy_done(&copy));
  rdmagpu_copy_release(&copy);
}

TEST_P(CapiCopies, OptionsArrive) {
  rdmagpu_copy_queue_options options = RDMAGPU_INIT(rdmagpu_copy_queue_options);
  options.on_stream = 2;
  rdmagpu_copy_queue* made = nullptr;
  const auto create = [&](rdmagpu_error* e) {
    return rdmagpu_copy_queue_create(buffer.get(), &options, &made, e);
  };
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_copy_queue_options::on_stream");
  options = RDMAGPU_INIT(rdmagpu_copy_queue_options);
  options.streams = 1;
  options.depth = 1;
  ASSERT_EQ(create(nullptr), RDMAGPU_OK);
  rdmagpu_copy_queue_destroy(made);
}

INSTANTIATE_TEST_SUITE_P(Apis, CapiCopies, testing::Values(RDMAGPU_API_HOST, RDMAGPU_API_CUDA),
                         [](const auto& api) { return std::string{rdmagpu_api_name(api.param)}; });

} // namespace
} // namespace rdmagpu::capitest
