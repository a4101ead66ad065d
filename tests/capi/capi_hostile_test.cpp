#include "capi_support.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

/// Callers that go wrong, or are of another version.
namespace rdmagpu::capitest {
namespace {

TEST(CapiHostile, ASizeThatWasNeverSetIsNeitherReadNorFilled) {
  const auto buffer = makeBuffer();
  rdmagpu_config config = hostConfig();
  config.struct_size = 0xEEEEEEEE;
  rdmagpu_buffer* made = nullptr;
  const rdmagpu_error error =
      failureOf([&](rdmagpu_error* e) { return rdmagpu_buffer_create(&config, &made, e); });
  EXPECT_STREQ(error.code_name, "StructSize");
  EXPECT_EQ(error.bytes, 0xEEEEEEEEU);
  rdmagpu_slot slot = RDMAGPU_INIT(rdmagpu_slot);
  slot.struct_size = 0xEEEEEEEE;
  slot.size = 5;
  EXPECT_EQ(rdmagpu_buffer_slot(buffer.get(), 0, &slot, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(slot.size, 5U);
  rdmagpu_error garbage{};
  garbage.struct_size = 0xEEEEEEEE;
  garbage.kind = 77;
  EXPECT_EQ(rdmagpu_buffer_slot(buffer.get(), 0, &slot, &garbage), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(garbage.kind, 77);
}

TEST(CapiHostile, AFrameOfSuchASizeStaysInTheRing) {
  rdmagpu_ring* made = nullptr;
  ASSERT_EQ(rdmagpu_ring_create(1, RDMAGPU_RING_FIFO, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_ring> ring{made};
  std::uint32_t slot{};
  ASSERT_EQ(rdmagpu_ring_acquire(made, &slot, 0), RDMAGPU_RING_OK);
  ASSERT_EQ(rdmagpu_ring_publish(made, slot, 0, 8, 8, {}), RDMAGPU_RING_OK);
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  for(const std::uint32_t size : {0U, 8U, 0xEEEEEEEEU}) {
    frame.struct_size = size;
    EXPECT_EQ(rdmagpu_ring_take(made, &frame, 0), RDMAGPU_RING_MISUSE);
  }
  EXPECT_EQ(rdmagpu_ring_take(made, nullptr, 0), RDMAGPU_RING_MISUSE);
  frame = RDMAGPU_INIT(rdmagpu_frame);
  EXPECT_EQ(rdmagpu_ring_take(made, &frame, 0), RDMAGPU_RING_OK);
}

/// A struct as programs have it that were compiled before it grew, with a mark behind it.
template <class Struct, std::size_t Bytes>
struct Older {
  alignas(Struct) unsigned char bytes[sizeof(Struct) + 1]{};
  Older() {
    std::memset(bytes, 0xAB, sizeof bytes);
    std::memset(bytes, 0, Bytes);
    at()->struct_size = Bytes;
  }
  Struct* at() { return reinterpret_cast<Struct*>(bytes); }
  bool markIsWhole() const {
    for(std::size_t i = Bytes; i < sizeof bytes; ++i) {
      if(bytes[i] != 0xAB)
        return false;
    }
    return true;
  }
};

TEST(CapiHostile, OlderCallersGetWhatTheirStructsHaveRoomFor) {
  const auto buffer = makeBuffer();
  Older<rdmagpu_facts, offsetof(rdmagpu_facts, p2pmem_bytes)> facts;
  EXPECT_EQ(rdmagpu_buffer_facts(buffer.get(), facts.at(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.at()->slot_count, 3U);
  EXPECT_TRUE(facts.markIsWhole());

  Older<rdmagpu_error, offsetof(rdmagpu_error, fd)> error;
  EXPECT_EQ(rdmagpu_buffer_facts(nullptr, facts.at(), error.at()), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_STREQ(error.at()->code_name, "PointerNull");
  EXPECT_TRUE(error.markIsWhole());
  rdmagpu_error newer = RDMAGPU_INIT(rdmagpu_error);
  rdmagpu_buffer_facts(nullptr, facts.at(), &newer);
  EXPECT_EQ(messageOf(*error.at()), messageOf(newer));
  EXPECT_EQ(rdmagpu_error_hint_count(error.at()), rdmagpu_error_hint_count(&newer));

  rdmagpu_ring* made = nullptr;
  ASSERT_EQ(rdmagpu_ring_create(1, RDMAGPU_RING_FIFO, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_ring> ring{made};
  std::uint32_t slot{};
  ASSERT_EQ(rdmagpu_ring_acquire(made, &slot, 0), RDMAGPU_RING_OK);
  ASSERT_EQ(rdmagpu_ring_publish(made, slot, 0, 8, 8, {}), RDMAGPU_RING_OK);
  Older<rdmagpu_frame, offsetof(rdmagpu_frame, fault)> frame;
  EXPECT_EQ(rdmagpu_ring_take(made, frame.at(), 0), RDMAGPU_RING_OK);
  EXPECT_EQ(frame.at()->bytes, 8U);
  EXPECT_TRUE(frame.markIsWhole());
}

TEST(CapiHostile, ADescriptorThatWasWrongIsTold) {
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  error.fd = 7;
  error.has_fd = 1;
  error.kind = RDMAGPU_INVALID_ARGUMENT;
  error.device = error.slot = -1;
  const std::string with = messageOf(error);
  error.has_fd = 0;
  EXPECT_NE(with, messageOf(error));
}

TEST(CapiHostile, ReservedMembersMustBeZero) {
  const auto buffer = makeBuffer();
  rdmagpu_verify_options options = RDMAGPU_INIT(rdmagpu_verify_options);
  options.reserved = 1;
  rdmagpu_report* report = nullptr;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_verify(buffer.get(), nullptr, &options, &report, e);
               }).call,
               "rdmagpu_verify_options::reserved");
}

TEST(CapiHostile, AReportOutlivesThePeersName) {
  const auto buffer = makeBuffer();
  std::string name = "short-lived";
  rdmagpu_peer peer = RDMAGPU_INIT(rdmagpu_peer);
  peer.name = name.c_str();
  rdmagpu_report* made = nullptr;
  ASSERT_EQ(rdmagpu_verify(buffer.get(), &peer, nullptr, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_report> report{made};
  name.assign(name.size(), 'x');
  rdmagpu_report_facts facts = RDMAGPU_INIT(rdmagpu_report_facts);
  ASSERT_EQ(rdmagpu_report_facts_of(made, &facts, nullptr), RDMAGPU_OK);
  EXPECT_STREQ(facts.peer, "short-lived");
}

TEST(CapiHostile, APeerThatReturnsNoKindOfFailureHasABug) {
  const auto buffer = makeBuffer();
  rdmagpu_peer peer = RDMAGPU_INIT(rdmagpu_peer);
  peer.write = [](void*, std::uint32_t, const void*, std::size_t, rdmagpu_error* error) {
    *error = {}; // its size and texts, too
    return -5;
  };
  rdmagpu_report* made = nullptr;
  ASSERT_EQ(rdmagpu_verify(buffer.get(), &peer, nullptr, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_report> report{made};
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_EQ(rdmagpu_report_reason(made, false, &reason, nullptr), RDMAGPU_OK);
  EXPECT_EQ(reason.kind, RDMAGPU_INTERNAL);
  EXPECT_STREQ(reason.call, "");
  EXPECT_FALSE(messageOf(reason).empty());
}

TEST(CapiHostile, EveryHintIsTold) {
  ASSERT_GT(rdmagpu_hint_count(), 0U);
  rdmagpu_hint hint = RDMAGPU_INIT(rdmagpu_hint);
  for(std::size_t i = 0; i < rdmagpu_hint_count(); ++i) {
    ASSERT_TRUE(rdmagpu_hint_get(i, &hint));
    EXPECT_NE(rdmagpu_origin_name(hint.origin), nullptr);
    ASSERT_GT(hint.sentence_count, 0U);
    EXPECT_STRNE(hint.sentences[hint.sentence_count - 1], "");
  }
  EXPECT_FALSE(rdmagpu_hint_get(rdmagpu_hint_count(), &hint));
  EXPECT_FALSE(rdmagpu_hint_get(0, nullptr));
}

TEST(CapiHostile, OnlyWhatTheCpuReachesHasAnAddressForIt) {
  int here{};
  const auto bits = reinterpret_cast<std::uint64_t>(&here);
  EXPECT_EQ(rdmagpu_handoff_cpu_address(RDMAGPU_HANDOFF_HOST_POINTER, bits), &here);
  EXPECT_EQ(rdmagpu_handoff_cpu_address(RDMAGPU_HANDOFF_PCI_MAPPING, bits), &here);
  for(std::int32_t kind = -1; kind <= RDMAGPU_HANDOFF_DMA_BUF + 1; ++kind) {
    const bool reached = kind == RDMAGPU_HANDOFF_HOST_POINTER || kind == RDMAGPU_HANDOFF_PCI_MAPPING;
    EXPECT_EQ(rdmagpu_handoff_cpu_address(kind, bits) != nullptr, reached) << kind;
  }
}

TEST(CapiMemory, ItsTextLivesAsLong) {
  const std::vector<char> heap(100);
  rdmagpu_memory* memory = nullptr;
  ASSERT_EQ(rdmagpu_memory_create(heap.data(), heap.size(), &memory, nullptr), RDMAGPU_OK);
  rdmagpu_memory_facts facts = RDMAGPU_INIT(rdmagpu_memory_facts);
  ASSERT_EQ(rdmagpu_memory_facts_of(memory, &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.kind, RDMAGPU_MEMORY_PRIVATE);
  EXPECT_STRNE(rdmagpu_memory_why(memory), "");
  EXPECT_NE(rdmagpu_memory_mapping(memory), nullptr);
  EXPECT_STREQ(rdmagpu_memory_gpu_name(memory), "");
  rdmagpu_memory_destroy(memory);
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) { return rdmagpu_memory_create(nullptr, 1, &memory, e); }).kind,
            RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(memory, nullptr);
  EXPECT_STREQ(rdmagpu_memory_why(nullptr), "");
  EXPECT_STREQ(rdmagpu_memory_mapping(nullptr), "");
  EXPECT_STREQ(rdmagpu_memory_gpu_name(nullptr), "");
  EXPECT_EQ(rdmagpu_memory_facts_of(nullptr, &facts, nullptr), RDMAGPU_INVALID_ARGUMENT);
  rdmagpu_memory_destroy(nullptr);
}

} // namespace
} // namespace rdmagpu::capitest
