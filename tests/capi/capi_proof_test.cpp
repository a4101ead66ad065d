#include "capi_support.hpp"

#include <cstring>
#include <vector>

namespace rdmagpu::capitest {
namespace {

constexpr std::uint64_t frameBytes = 100'000;

class CapiFrameProof : public testing::TestWithParam<std::int32_t> {
protected:
  Owned<rdmagpu_buffer> buffer = [] {
    rdmagpu_config wanted = hostConfig();
    wanted.api = GetParam();
    return makeBuffer(wanted);
  }();
  rdmagpu_frame_proof_config config = RDMAGPU_INIT(rdmagpu_frame_proof_config);

  Owned<rdmagpu_frame_proof> make() {
    rdmagpu_frame_proof* made = nullptr;
    EXPECT_EQ(rdmagpu_frame_proof_create(buffer.get(), &config, &made, nullptr), RDMAGPU_OK);
    return Owned<rdmagpu_frame_proof>{made};
  }
  void write(std::uint32_t slot, std::size_t bytes) {
    const std::vector<unsigned char> frame(bytes, 7);
    ASSERT_EQ(rdmagpu_buffer_upload(buffer.get(), slot, 0, frame.data(), frame.size(), nullptr), RDMAGPU_OK);
  }
};

TEST_P(CapiFrameProof, FindsWhatDidNotCome) {
  const auto proof = make();
  EXPECT_EQ(rdmagpu_frame_proof_slot_count(proof.get()), 3U);
  EXPECT_EQ(rdmagpu_frame_proof_on_fault(proof.get()), RDMAGPU_FAULT_REPORT);
  EXPECT_EQ(rdmagpu_frame_proof_arms_ahead(proof.get()), GetParam() == RDMAGPU_API_CUDA);
  rdmagpu_frame_proof_start_arm(proof.get(), 0);
  EXPECT_EQ(rdmagpu_frame_proof_arm(proof.get(), 0).fault, RDMAGPU_FRAME_FAULT_NONE);
  EXPECT_EQ(rdmagpu_frame_proof_check(proof.get(), 0, frameBytes).fault, RDMAGPU_FRAME_FAULT_STALE);
  EXPECT_EQ(rdmagpu_frame_proof_arm(proof.get(), 0).fault, RDMAGPU_FRAME_FAULT_NONE);
  write(0, frameBytes / 2);
  rdmagpu_frame_proof_start_check(proof.get(), 0, frameBytes, RDMAGPU_NO_SLOT);
  const rdmagpu_frame_finding torn = rdmagpu_frame_proof_check(proof.get(), 0, frameBytes);
  EXPECT_EQ(torn.fault, RDMAGPU_FRAME_FAULT_TORN);
  EXPECT_GE(torn.offset, frameBytes / 2 - 8);
  EXPECT_EQ(rdmagpu_frame_proof_finding(proof.get(), 0).fault, RDMAGPU_FRAME_FAULT_TORN);
  write(0, frameBytes);
  EXPECT_EQ(rdmagpu_frame_proof_recheck(proof.get(), 0).fault, RDMAGPU_FRAME_FAULT_LATE);
  rdmagpu_frame_proof_counters counters = RDMAGPU_INIT(rdmagpu_frame_proof_counters);
  ASSERT_EQ(rdmagpu_frame_proof_counters_of(proof.get(), &counters, nullptr), RDMAGPU_OK);
  EXPECT_EQ(counters.checked, 2U);
  EXPECT_EQ(counters.stale, 1U);
  EXPECT_EQ(counters.torn, 1U);
  EXPECT_EQ(counters.late, 1U);
  EXPECT_EQ(counters.wrong_offset + counters.short_frames + counters.unchecked, 0U);
}

TEST_P(CapiFrameProof, ARingTellsOfEachFrameAndKeepsTheProof) {
  rdmagpu_ring* made = nullptr;
  {
    const auto proof = make();
    ASSERT_EQ(rdmagpu_ring_create_proven(3, RDMAGPU_RING_FIFO, proof.get(), &made, nullptr), RDMAGPU_OK);
  }
  const Owned<rdmagpu_ring> ring{made};
  EXPECT_EQ(rdmagpu_ring_slot_count(made), 3U);
  EXPECT_EQ(rdmagpu_ring_policy_of(made), RDMAGPU_RING_FIFO);
  for(const bool whole : {true, false}) {
    std::uint32_t slot{};
    ASSERT_EQ(rdmagpu_ring_acquire(made, &slot, -1), RDMAGPU_RING_OK);
    if(whole)
      write(slot, frameBytes);
    ASSERT_EQ(rdmagpu_ring_publish(made, slot, 0, frameBytes, frameBytes, {}), RDMAGPU_RING_OK);
    rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
    ASSERT_EQ(rdmagpu_ring_take(made, &frame, -1), RDMAGPU_RING_OK);
    EXPECT_EQ(frame.fault, whole ? RDMAGPU_FRAME_FAULT_NONE : RDMAGPU_FRAME_FAULT_STALE);
    EXPECT_EQ(rdmagpu_ring_fault(made, frame.slot), frame.fault);
    ASSERT_EQ(rdmagpu_ring_release(made, frame.slot, {}), RDMAGPU_RING_OK);
  }
}

TEST_P(CapiFrameProof, OptionsArrive) {
  config.on_fault = RDMAGPU_FAULT_DROP;
  config.partial_frames = 1;
  const auto proof = make();
  EXPECT_EQ(rdmagpu_frame_proof_on_fault(proof.get()), RDMAGPU_FAULT_DROP);
  rdmagpu_frame_proof_arm(proof.get(), 1);
  write(1, 5000);
  EXPECT_EQ(rdmagpu_frame_proof_check(proof.get(), 1, 5000).fault, RDMAGPU_FRAME_FAULT_NONE);
}

TEST_P(CapiFrameProof, BadOptionsAreRefusedByName) {
  rdmagpu_frame_proof* made = nullptr;
  const auto create = [&](rdmagpu_error* e) {
    return rdmagpu_frame_proof_create(buffer.get(), &config, &made, e);
  };
  config.on_fault = 3;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_frame_proof_config::on_fault");
  config.on_fault = 0;
  config.partial_frames = 2;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_frame_proof_config::partial_frames");
  config.partial_frames = 0;
  config.reserved = 1;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_frame_proof_config::reserved");
  config.struct_size = 4;
  EXPECT_STREQ(failureOf(create).code_name, "StructSize");
  EXPECT_EQ(made, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Apis, CapiFrameProof, testing::Values(RDMAGPU_API_HOST, RDMAGPU_API_CUDA),
                         [](const auto& api) { return std::string{rdmagpu_api_name(api.param)}; });

TEST(CapiFrameProofOfNothing, FindsNothing) {
  rdmagpu_frame_proof* made = nullptr;
  rdmagpu_ring* ring = nullptr;
  rdmagpu_frame_proof_counters counters = RDMAGPU_INIT(rdmagpu_frame_proof_counters);
  const auto refused = [](auto call) { EXPECT_STREQ(failureOf(call).code_name, "PointerNull"); };
  refused([&](rdmagpu_error* e) { return rdmagpu_frame_proof_create(nullptr, nullptr, &made, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_frame_proof_counters_of(nullptr, &counters, e); });
  refused(
      [&](rdmagpu_error* e) { return rdmagpu_ring_create_proven(3, RDMAGPU_RING_FIFO, nullptr, &ring, e); });
  EXPECT_EQ(rdmagpu_frame_proof_arm(nullptr, 0).fault, RDMAGPU_FRAME_FAULT_NONE);
  EXPECT_EQ(rdmagpu_frame_proof_check(nullptr, 0, 1).fault, RDMAGPU_FRAME_FAULT_NONE);
  EXPECT_EQ(rdmagpu_frame_proof_recheck(nullptr, 0).fault, RDMAGPU_FRAME_FAULT_NONE);
  EXPECT_EQ(rdmagpu_frame_proof_finding(nullptr, 0).fault, RDMAGPU_FRAME_FAULT_NONE);
  rdmagpu_frame_proof_start_arm(nullptr, 0);
  rdmagpu_frame_proof_start_check(nullptr, 0, 1, RDMAGPU_NO_SLOT);
  EXPECT_FALSE(rdmagpu_frame_proof_arms_ahead(nullptr));
  EXPECT_EQ(rdmagpu_frame_proof_on_fault(nullptr), -1);
  EXPECT_EQ(rdmagpu_frame_proof_slot_count(nullptr), 0U);
  EXPECT_EQ(rdmagpu_ring_slot_count(nullptr), 0U);
  EXPECT_EQ(rdmagpu_ring_policy_of(nullptr), -1);
  EXPECT_EQ(rdmagpu_ring_fault(nullptr, 0), RDMAGPU_FRAME_FAULT_NONE);
  rdmagpu_frame_proof_destroy(nullptr);
  EXPECT_STREQ(rdmagpu_frame_fault_name(RDMAGPU_FRAME_FAULT_TORN), "torn");
  EXPECT_EQ(rdmagpu_frame_fault_name(7), nullptr);
}

TEST(CapiFrameProofOfFew, IsRefusedByALargerRing) {
  const auto buffer = makeBuffer();
  rdmagpu_frame_proof* made = nullptr;
  ASSERT_EQ(rdmagpu_frame_proof_create(buffer.get(), nullptr, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_frame_proof> proof{made};
  rdmagpu_ring* ring = nullptr;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_ring_create_proven(4, RDMAGPU_RING_FIFO, made, &ring, e);
               }).code_name,
               "RingLargerThanProof");
  EXPECT_EQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_ring_create_proven(3, 9, made, &ring, e); }).kind,
      RDMAGPU_INVALID_ARGUMENT);
}

} // namespace
} // namespace rdmagpu::capitest
