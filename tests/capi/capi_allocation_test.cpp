#include "capi_support.hpp"

#include <contract/allocation_faults.hpp>

#include <cstring>
#include <vector>

/// Out of memory at each allocation in turn: nothing is thrown at C, no object is left half made, and the
/// number says so.
namespace rdmagpu::capitest {
namespace {

template <class Object, class Create>
void survivesEachFailure(Create create) {
  const auto descriptors = test::openDescriptors();
  for(int n = 1;; ++n) {
    auto* object = reinterpret_cast<Object*>(&n); // rubbish, as in a program that has set nothing
    rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
    test::failAllocation(n);
    const int kind = create(&object, &error);
    const bool failed = test::allocationFailed();
    test::failAllocation(0);
    EXPECT_EQ(kind, error.kind);
    EXPECT_EQ(object != nullptr, kind == RDMAGPU_OK);
    if(kind != RDMAGPU_OK) {
      EXPECT_EQ(kind, RDMAGPU_OUT_OF_MEMORY) << messageOf(error);
    }
    const Owned<Object> own{object};
    if(!failed) {
      EXPECT_EQ(kind, RDMAGPU_OK) << messageOf(error);
      EXPECT_GT(n, 1) << "nothing is allocated";
      break;
    }
  }
  EXPECT_EQ(test::openDescriptors(), descriptors);
}

TEST(CapiAllocation, BufferSurvivesEachFailure) {
  const rdmagpu_config config = hostConfig();
  survivesEachFailure<rdmagpu_buffer>(
      [&](rdmagpu_buffer** made, rdmagpu_error* e) { return rdmagpu_buffer_create(&config, made, e); });
}

TEST(CapiAllocation, RingAndProofSurviveEachFailure) {
  const auto buffer = makeBuffer();
  survivesEachFailure<rdmagpu_frame_proof>([&](rdmagpu_frame_proof** made, rdmagpu_error* e) {
    return rdmagpu_frame_proof_create(buffer.get(), nullptr, made, e);
  });
  rdmagpu_frame_proof* made = nullptr;
  ASSERT_EQ(rdmagpu_frame_proof_create(buffer.get(), nullptr, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_frame_proof> proof{made};
  survivesEachFailure<rdmagpu_ring>([&](rdmagpu_ring** ring, rdmagpu_error* e) {
    return rdmagpu_ring_create_proven(3, RDMAGPU_RING_FIFO, made, ring, e);
  });
}

TEST(CapiAllocation, StagedBufferSurvivesEachFailure) {
  const rdmagpu_config slots = hostConfig();
  rdmagpu_staged_config config = RDMAGPU_INIT(rdmagpu_staged_config);
  config.buffer = &slots;
  config.companion_bytes = 100;
  survivesEachFailure<rdmagpu_staged>(
      [&](rdmagpu_staged** made, rdmagpu_error* e) { return rdmagpu_staged_create(&config, made, e); });
}

TEST(CapiAllocation, ReportSurvivesEachFailure) {
  const auto buffer = makeBuffer();
  rdmagpu_peer peer = RDMAGPU_INIT(rdmagpu_peer);
  peer.name = "a name that is too long to lie in the string itself";
  survivesEachFailure<rdmagpu_report>([&](rdmagpu_report** made, rdmagpu_error* e) {
    return rdmagpu_verify(buffer.get(), &peer, nullptr, made, e);
  });
}

TEST(CapiAllocation, SoftwarePeerSurvivesEachFailure) {
  std::vector<unsigned char> memory(65536);
  const rdmagpu_peer_slot slot{.handoff = reinterpret_cast<std::uint64_t>(memory.data()),
                               .size = memory.size(),
                               .kind = RDMAGPU_HANDOFF_HOST_POINTER,
                               .reserved = 0};
  rdmagpu_software_peer_config config = RDMAGPU_INIT(rdmagpu_software_peer_config);
  config.slots = &slot;
  config.slot_count = 1;
  config.slot_now = [](void*, std::uint32_t, rdmagpu_peer_slot*) { return false; };
  survivesEachFailure<rdmagpu_software_peer>([&](rdmagpu_software_peer** made, rdmagpu_error* e) {
    return rdmagpu_software_peer_create(&config, made, e);
  });
}

TEST(CapiAllocation, RegistrationSurvivesEachFailureAndUnpins) {
  const auto buffer = makeBuffer();
  int pinned = 0;
  rdmagpu_registrar registrar = RDMAGPU_INIT(rdmagpu_registrar);
  registrar.context = &pinned;
  registrar.pin = [](void* context, const rdmagpu_pin_view*, std::uint64_t*, rdmagpu_error*) {
    ++*static_cast<int*>(context);
    return static_cast<int>(RDMAGPU_OK);
  };
  registrar.unpin = [](void* context, const rdmagpu_pin_view*, std::uint64_t, rdmagpu_error*) {
    --*static_cast<int*>(context);
    return static_cast<int>(RDMAGPU_OK);
  };
  survivesEachFailure<rdmagpu_registration>([&](rdmagpu_registration** made, rdmagpu_error* e) {
    return rdmagpu_registration_create(buffer.get(), &registrar, made, e);
  });
  EXPECT_EQ(pinned, 0);
}

TEST(CapiAllocation, WhatMemoryIsSurvivesEachFailure) {
  const std::vector<char> heap(100);
  survivesEachFailure<rdmagpu_memory>([&](rdmagpu_memory** made, rdmagpu_error* e) {
    return rdmagpu_memory_create(heap.data(), heap.size(), made, e);
  });
}

TEST(CapiAllocation, AMessageIsThereWithoutMemory) {
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_EQ(rdmagpu_buffer_facts(nullptr, nullptr, &error), RDMAGPU_INVALID_ARGUMENT);
  char text[200] = "";
  test::failAllocation(1);
  const std::size_t length = rdmagpu_error_message(&error, text, sizeof text);
  test::failAllocation(0);
  EXPECT_EQ(length, std::strlen(text));
  EXPECT_GT(length, 0U);
}

} // namespace
} // namespace rdmagpu::capitest
