#include "capi_support.hpp"

#include <cstring>
#include <vector>

namespace rdmagpu::capitest {
namespace {

constexpr std::uint64_t frameBytes = 100'000;

struct Wanted {
  rdmagpu_config buffer = hostConfig();
  rdmagpu_frame_proof_config proof = RDMAGPU_INIT(rdmagpu_frame_proof_config);
  rdmagpu_staged_config staged = RDMAGPU_INIT(rdmagpu_staged_config);

  explicit Wanted(std::int32_t path) {
    buffer.api = path == RDMAGPU_PATH_STAGED ? RDMAGPU_API_CUDA : RDMAGPU_API_HOST;
    staged.buffer = &buffer;
    staged.path = path;
  }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;
  ~Wanted() = default;

  Owned<rdmagpu_staged> make() const {
    rdmagpu_staged* made = nullptr;
    rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
    EXPECT_EQ(rdmagpu_staged_create(&staged, &made, &error), RDMAGPU_OK) << messageOf(error);
    return Owned<rdmagpu_staged>{made};
  }
};

class CapiStaged : public testing::TestWithParam<std::int32_t> {
protected:
  Wanted wanted{GetParam()};
};

/// The peer writes a frame, or none, and the application takes it.
rdmagpu_frame exchange(rdmagpu_staged* staged, bool write) {
  rdmagpu_ring* ring = rdmagpu_staged_ring(staged);
  std::uint32_t slot{};
  EXPECT_EQ(rdmagpu_ring_acquire(ring, &slot, -1), RDMAGPU_RING_OK);
  std::int32_t kind{};
  std::uint64_t handoff{};
  EXPECT_EQ(rdmagpu_staged_handoff(staged, slot, &kind, &handoff, nullptr), RDMAGPU_OK);
  EXPECT_EQ(kind, RDMAGPU_HANDOFF_HOST_POINTER);
  if(write)
    std::memset(rdmagpu_handoff_cpu_address(kind, handoff), 7, frameBytes);
  EXPECT_EQ(rdmagpu_ring_publish(ring, slot, 5, frameBytes, frameBytes, {}), RDMAGPU_RING_OK);
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  EXPECT_EQ(rdmagpu_ring_take(ring, &frame, -1), RDMAGPU_RING_OK);
  return frame;
}

TEST_P(CapiStaged, FramesArriveInTheApplicationsMemory) {
  const auto staged = wanted.make();
  const rdmagpu_frame frame = exchange(staged.get(), true);
  EXPECT_EQ(frame.bytes_ready, frameBytes);
  std::vector<unsigned char> out(frameBytes);
  ASSERT_EQ(rdmagpu_buffer_download(rdmagpu_staged_application(staged.get()), frame.slot, 0, out.data(),
                                    out.size(), nullptr),
            RDMAGPU_OK);
  EXPECT_EQ(out, std::vector<unsigned char>(out.size(), 7));
  EXPECT_EQ(rdmagpu_ring_release(rdmagpu_staged_ring(staged.get()), frame.slot, {}), RDMAGPU_RING_OK);
  rdmagpu_error failure = RDMAGPU_INIT(rdmagpu_error);
  EXPECT_EQ(rdmagpu_staged_failure(staged.get(), &failure, nullptr), RDMAGPU_OK);
  EXPECT_EQ(failure.kind, RDMAGPU_OK);
  rdmagpu_staged_close(staged.get());
  rdmagpu_staged_close(staged.get());
  std::uint32_t slot{};
  EXPECT_EQ(rdmagpu_ring_acquire(rdmagpu_staged_ring(staged.get()), &slot, -1), RDMAGPU_RING_CLOSED);
}

TEST_P(CapiStaged, SaysWhatItIs) {
  wanted.staged.companion_bytes = 1000;
  const auto staged = wanted.make();
  rdmagpu_staged_facts facts = RDMAGPU_INIT(rdmagpu_staged_facts);
  ASSERT_EQ(rdmagpu_staged_facts_of(staged.get(), &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.path, GetParam());
  EXPECT_EQ(rdmagpu_staged_path(staged.get()), GetParam());
  EXPECT_EQ(facts.slice_bytes != 0, GetParam() == RDMAGPU_PATH_STAGED);
  EXPECT_EQ(facts.companion_bytes, 1000U);
  rdmagpu_facts buffer = RDMAGPU_INIT(rdmagpu_facts);
  ASSERT_EQ(rdmagpu_staged_application_facts(staged.get(), &buffer, nullptr), RDMAGPU_OK);
  EXPECT_EQ(buffer.api, wanted.buffer.api);
  ASSERT_EQ(rdmagpu_staged_peer_facts(staged.get(), &buffer, nullptr), RDMAGPU_OK);
  EXPECT_EQ(buffer.api, RDMAGPU_API_HOST);
  EXPECT_STRNE(buffer.device, "");
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  EXPECT_EQ(rdmagpu_staged_reason(staged.get(), &reason, nullptr), RDMAGPU_OK);
  std::uint64_t bytes = 0;
  void* companion = rdmagpu_staged_companion(staged.get(), 1, &bytes);
  ASSERT_NE(companion, nullptr);
  ASSERT_GE(bytes, 1000U);
  std::memset(companion, 1, bytes);
  EXPECT_EQ(rdmagpu_staged_companion(staged.get(), 3, &bytes), nullptr);
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(rdmagpu_buffer_slot_count(rdmagpu_staged_companions(staged.get())), 3U);
  rdmagpu_frame_proof_counters counters = RDMAGPU_INIT(rdmagpu_frame_proof_counters);
  EXPECT_FALSE(rdmagpu_staged_proof_counters(staged.get(), &counters));
}

TEST_P(CapiStaged, FramesAreProven) {
  wanted.staged.proof = &wanted.proof;
  const auto staged = wanted.make();
  rdmagpu_ring* ring = rdmagpu_staged_ring(staged.get());
  EXPECT_EQ(rdmagpu_ring_release(ring, exchange(staged.get(), true).slot, {}), RDMAGPU_RING_OK);
  const rdmagpu_frame stale = exchange(staged.get(), false);
  EXPECT_EQ(stale.fault, RDMAGPU_FRAME_FAULT_STALE);
  EXPECT_EQ(rdmagpu_ring_fault(ring, stale.slot), RDMAGPU_FRAME_FAULT_STALE);
  rdmagpu_frame_proof_counters counters = RDMAGPU_INIT(rdmagpu_frame_proof_counters);
  ASSERT_TRUE(rdmagpu_staged_proof_counters(staged.get(), &counters));
  EXPECT_EQ(counters.checked, 2U);
  EXPECT_EQ(counters.stale, 1U);
}

TEST_P(CapiStaged, ItsPartsGoWithItAndNoSooner) {
  const auto staged = wanted.make();
  rdmagpu_ring_destroy(rdmagpu_staged_ring(staged.get()));
  rdmagpu_buffer_destroy(const_cast<rdmagpu_buffer*>(rdmagpu_staged_application(staged.get())));
  rdmagpu_buffer_destroy(const_cast<rdmagpu_buffer*>(rdmagpu_staged_peer(staged.get())));
  rdmagpu_buffer_destroy(const_cast<rdmagpu_buffer*>(rdmagpu_staged_companions(staged.get())));
  exchange(staged.get(), true);
  EXPECT_EQ(rdmagpu_buffer_slot_count(rdmagpu_staged_peer(staged.get())), 3U);
  EXPECT_EQ(rdmagpu_buffer_slot_count(rdmagpu_staged_companions(staged.get())), 0U);
}

INSTANTIATE_TEST_SUITE_P(Paths, CapiStaged, testing::Values(RDMAGPU_PATH_DIRECT, RDMAGPU_PATH_STAGED),
                         [](const auto& path) { return std::string{rdmagpu_slot_path_name(path.param)}; });

TEST(CapiStagedConfig, IsRefusedByField) {
  Wanted wanted{RDMAGPU_PATH_DIRECT};
  rdmagpu_staged* made = nullptr;
  const auto create = [&](rdmagpu_error* e) { return rdmagpu_staged_create(&wanted.staged, &made, e); };
  const auto refused = [&](std::int32_t rdmagpu_staged_config::*member, const char* field) {
    for(const std::int32_t wrong : {-1, 3}) {
      const std::int32_t right = std::exchange(wanted.staged.*member, wrong);
      EXPECT_STREQ(failureOf(create).call, field);
      wanted.staged.*member = right;
    }
  };
  refused(&rdmagpu_staged_config::flow, "rdmagpu_staged_config::flow");
  refused(&rdmagpu_staged_config::policy, "rdmagpu_staged_config::policy");
  refused(&rdmagpu_staged_config::path, "rdmagpu_staged_config::path");
  wanted.proof.on_fault = 9;
  wanted.staged.proof = &wanted.proof;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_frame_proof_config::on_fault");
  wanted.staged.buffer = nullptr;
  EXPECT_STREQ(failureOf(create).code_name, "PointerNull");
  EXPECT_STREQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_staged_create(nullptr, &made, e); }).code_name,
      "PointerNull");
  EXPECT_EQ(made, nullptr);
}

TEST(CapiStagedNull, HasNothing) {
  EXPECT_EQ(rdmagpu_staged_ring(nullptr), nullptr);
  EXPECT_EQ(rdmagpu_staged_application(nullptr), nullptr);
  EXPECT_EQ(rdmagpu_staged_peer(nullptr), nullptr);
  EXPECT_EQ(rdmagpu_staged_companions(nullptr), nullptr);
  EXPECT_EQ(rdmagpu_staged_companion(nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(rdmagpu_staged_path(nullptr), RDMAGPU_PATH_ANY);
  EXPECT_EQ(rdmagpu_slot_path_name(RDMAGPU_PATH_ANY), nullptr);
  EXPECT_EQ(rdmagpu_slot_path_name(INT32_MIN), nullptr);
  EXPECT_FALSE(rdmagpu_staged_proof_counters(nullptr, nullptr));
  rdmagpu_staged_close(nullptr);
  rdmagpu_staged_destroy(nullptr);
  const auto refused = [](auto call) { EXPECT_STREQ(failureOf(call).code_name, "PointerNull"); };
  rdmagpu_staged_facts facts = RDMAGPU_INIT(rdmagpu_staged_facts);
  rdmagpu_facts buffer = RDMAGPU_INIT(rdmagpu_facts);
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  refused([&](rdmagpu_error* e) { return rdmagpu_staged_facts_of(nullptr, &facts, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_staged_reason(nullptr, &reason, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_staged_application_facts(nullptr, &buffer, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_staged_peer_facts(nullptr, &buffer, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_staged_failure(nullptr, &reason, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_staged_handoff(nullptr, 0, nullptr, nullptr, e); });
  const auto staged = Wanted{RDMAGPU_PATH_DIRECT}.make();
  std::int32_t kind{};
  std::uint64_t handoff{};
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_staged_handoff(staged.get(), 3, &kind, &handoff, e);
               }).code_name,
               "SlotOutOfRange");
}

TEST(CapiCudaCompletions, AreDoneWhenTheStreamIs) {
  rdmagpu_cuda_completions* made = nullptr;
  ASSERT_EQ(rdmagpu_cuda_completions_create(2, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_cuda_completions> completions{made};
  rdmagpu_completion completion{};
  // Without a current context there is no default stream.
  EXPECT_NE(failureOf([&](rdmagpu_error* e) {
              return rdmagpu_cuda_after_stream(made, 0, nullptr, &completion, e);
            }).kind,
            RDMAGPU_OK);
  EXPECT_EQ(completion.done, nullptr);
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_cuda_after_stream(made, 2, nullptr, &completion, e);
               }).code_name,
               "SlotOutOfRange");
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) {
              return rdmagpu_cuda_after_event(made, 0, nullptr, &completion, e);
            }).kind,
            RDMAGPU_INVALID_ARGUMENT);
  const auto refused = [](auto call) { EXPECT_STREQ(failureOf(call).code_name, "PointerNull"); };
  refused([&](rdmagpu_error* e) { return rdmagpu_cuda_after_stream(made, 0, nullptr, nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_cuda_after_event(nullptr, 0, nullptr, &completion, e); });
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 rdmagpu_cuda_completions* none = nullptr;
                 return rdmagpu_cuda_completions_create(0, &none, e);
               }).code_name,
               "SlotCountZero");
  rdmagpu_cuda_completions_destroy(nullptr);
}

} // namespace
} // namespace rdmagpu::capitest
