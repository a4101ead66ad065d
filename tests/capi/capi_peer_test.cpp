#include "capi_support.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

/// The peers that the library has itself.
namespace rdmagpu::capitest {
namespace {

constexpr std::uint64_t frameBytes = 100'000;

/// Makes frames, or takes them.
struct Frames {
  std::vector<unsigned char> bytes = std::vector<unsigned char>(frameBytes);
  unsigned count{};
  bool wrong{};

  rdmagpu_frame_source source() {
    rdmagpu_frame_source made = RDMAGPU_INIT(rdmagpu_frame_source);
    made.context = this;
    made.next = [](void* context, std::size_t* size) -> const void* {
      auto& self = *static_cast<Frames*>(context);
      if(self.count == 10)
        return nullptr;
      std::memset(self.bytes.data(), static_cast<int>(++self.count), self.bytes.size());
      *size = self.bytes.size();
      return self.bytes.data();
    };
    return made;
  }
  rdmagpu_frame_sink sink() {
    rdmagpu_frame_sink made = RDMAGPU_INIT(rdmagpu_frame_sink);
    made.context = this;
    made.frame = [](void* context, std::uint64_t sequence, std::uint32_t, const void* frame,
                    std::size_t size) {
      auto& self = *static_cast<Frames*>(context);
      self.wrong = self.wrong || sequence != self.count || size != frameBytes ||
                   *static_cast<const unsigned char*>(frame) != self.count + 1;
      return ++self.count < 4;
    };
    return made;
  }
};

class CapiSoftwarePeer : public testing::Test {
protected:
  Owned<rdmagpu_buffer> buffer = makeBuffer();
  std::vector<rdmagpu_peer_slot> slots = [this] {
    std::vector<rdmagpu_peer_slot> all;
    for(std::uint32_t i = 0; i < 3; ++i) {
      rdmagpu_slot slot = RDMAGPU_INIT(rdmagpu_slot);
      EXPECT_EQ(rdmagpu_buffer_slot(buffer.get(), i, &slot, nullptr), RDMAGPU_OK);
      all.push_back({.handoff = slot.handoff, .size = slot.size, .kind = slot.handoff_kind, .reserved = 0});
    }
    return all;
  }();
  rdmagpu_software_peer_config config = [this] {
    rdmagpu_software_peer_config made = RDMAGPU_INIT(rdmagpu_software_peer_config);
    made.slots = slots.data();
    made.slot_count = 3;
    return made;
  }();
  Owned<rdmagpu_ring> ring = [] {
    rdmagpu_ring* made = nullptr;
    EXPECT_EQ(rdmagpu_ring_create(3, RDMAGPU_RING_FIFO, &made, nullptr), RDMAGPU_OK);
    return Owned<rdmagpu_ring>{made};
  }();
  Frames frames;

  Owned<rdmagpu_software_peer> make() {
    rdmagpu_software_peer* made = nullptr;
    EXPECT_EQ(rdmagpu_software_peer_create(&config, &made, nullptr), RDMAGPU_OK);
    return Owned<rdmagpu_software_peer>{made};
  }
  static rdmagpu_peer_counters countersOf(const Owned<rdmagpu_software_peer>& peer, rdmagpu_error* failure) {
    rdmagpu_peer_counters counters = RDMAGPU_INIT(rdmagpu_peer_counters);
    EXPECT_EQ(rdmagpu_software_peer_counters_of(peer.get(), &counters, failure, nullptr), RDMAGPU_OK);
    return counters;
  }
};

TEST_F(CapiSoftwarePeer, CapturesWhatTheSourceHas) {
  const auto peer = make();
  rdmagpu_frame_source source = frames.source();
  ASSERT_EQ(rdmagpu_software_peer_start_capture(peer.get(), ring.get(), &source, nullptr), RDMAGPU_OK);
  source = {}; // it was copied
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 const rdmagpu_frame_source again = frames.source();
                 return rdmagpu_software_peer_start_capture(peer.get(), ring.get(), &again, e);
               }).code_name,
               "PeerRunning");
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  unsigned taken = 0;
  while(rdmagpu_ring_take(ring.get(), &frame, -1) == RDMAGPU_RING_OK) {
    unsigned char first{};
    EXPECT_EQ(rdmagpu_buffer_download(buffer.get(), frame.slot, 0, &first, 1, nullptr), RDMAGPU_OK);
    EXPECT_EQ(first, ++taken);
    EXPECT_EQ(rdmagpu_ring_release(ring.get(), frame.slot, {}), RDMAGPU_RING_OK);
  }
  EXPECT_EQ(taken, 10U);
  rdmagpu_software_peer_wait(peer.get());
  rdmagpu_error failure = RDMAGPU_INIT(rdmagpu_error);
  const rdmagpu_peer_counters counters = countersOf(peer, &failure);
  EXPECT_EQ(counters.finished, 1U);
  EXPECT_EQ(counters.frames, 10U);
  EXPECT_EQ(counters.bytes, 10 * frameBytes);
  EXPECT_EQ(counters.missed, 0U);
  EXPECT_EQ(failure.kind, RDMAGPU_OK);
}

TEST_F(CapiSoftwarePeer, PlaysOutUntilTheSinkHasEnough) {
  const auto peer = make();
  const rdmagpu_frame_sink sink = frames.sink();
  ASSERT_EQ(rdmagpu_software_peer_start_playout(peer.get(), ring.get(), &sink, nullptr), RDMAGPU_OK);
  std::uint32_t slot{};
  for(unsigned i = 1; rdmagpu_ring_acquire(ring.get(), &slot, -1) == RDMAGPU_RING_OK; ++i) {
    const std::vector<unsigned char> bytes(frameBytes, static_cast<unsigned char>(i));
    EXPECT_EQ(rdmagpu_software_peer_write(peer.get(), slot, 0, bytes.data(), bytes.size(), nullptr),
              RDMAGPU_OK);
    rdmagpu_ring_publish(ring.get(), slot, 0, frameBytes, frameBytes, {});
  }
  rdmagpu_software_peer_stop(peer.get());
  EXPECT_EQ(frames.count, 4U);
  EXPECT_FALSE(frames.wrong);
}

TEST_F(CapiSoftwarePeer, MisbehavesAsItIsTold) {
  config.misbehaviour = RDMAGPU_MISBEHAVE_TEAR;
  config.misbehave_at = 0;
  const auto peer = make();
  const rdmagpu_frame_source source = frames.source();
  ASSERT_EQ(rdmagpu_software_peer_start_capture(peer.get(), ring.get(), &source, nullptr), RDMAGPU_OK);
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  ASSERT_EQ(rdmagpu_ring_take(ring.get(), &frame, -1), RDMAGPU_RING_OK);
  unsigned char last = 77;
  EXPECT_EQ(rdmagpu_software_peer_read(peer.get(), frame.slot, frameBytes - 1, &last, 1, nullptr),
            RDMAGPU_OK);
  EXPECT_EQ(last, 0);
  rdmagpu_ring_close_consumer(ring.get());
  rdmagpu_software_peer_stop(peer.get());
}

TEST_F(CapiSoftwarePeer, EndsWhereACallbackHasNoSlot) {
  for(const bool known : {false, true}) {
    config.slot_now = known ? [](void*, std::uint32_t, rdmagpu_peer_slot* now) {
      now->kind = 99;
      return true;
    } : [](void*, std::uint32_t, rdmagpu_peer_slot*) { return false; };
    const auto peer = make();
    frames.count = 0;
    rdmagpu_ring* made = nullptr;
    ASSERT_EQ(rdmagpu_ring_create(3, RDMAGPU_RING_FIFO, &made, nullptr), RDMAGPU_OK);
    const Owned<rdmagpu_ring> own{made};
    const rdmagpu_frame_source source = frames.source();
    ASSERT_EQ(rdmagpu_software_peer_start_capture(peer.get(), made, &source, nullptr), RDMAGPU_OK);
    rdmagpu_software_peer_wait(peer.get());
    rdmagpu_error failure = RDMAGPU_INIT(rdmagpu_error);
    countersOf(peer, &failure);
    EXPECT_NE(failure.kind, RDMAGPU_OK);
  }
}

TEST_F(CapiSoftwarePeer, AsksForTheMemoryOfEachSlot) {
  config.slot_now = [](void* context, std::uint32_t slot, rdmagpu_peer_slot* now) {
    *now = static_cast<rdmagpu_peer_slot*>(context)[slot];
    return true;
  };
  config.context = slots.data();
  const auto peer = make();
  const rdmagpu_frame_source source = frames.source();
  ASSERT_EQ(rdmagpu_software_peer_start_capture(peer.get(), ring.get(), &source, nullptr), RDMAGPU_OK);
  rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
  EXPECT_EQ(rdmagpu_ring_take(ring.get(), &frame, -1), RDMAGPU_RING_OK);
  rdmagpu_software_peer_stop(peer.get());
}

TEST_F(CapiSoftwarePeer, BadConfigsAreRefusedByField) {
  rdmagpu_software_peer* made = nullptr;
  const auto create = [&](rdmagpu_error* e) { return rdmagpu_software_peer_create(&config, &made, e); };
  config.misbehaviour = 9;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_software_peer_config::misbehaviour");
  config.misbehaviour = 0;
  config.reserved = 1;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_software_peer_config::reserved");
  config.reserved = 0;
  slots[1].kind = 9;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_peer_slot::kind");
  slots[1].kind = RDMAGPU_HANDOFF_CUDA_POINTER;
  EXPECT_STREQ(failureOf(create).code_name, "PeerCannotAddress");
  slots[1].reserved = 1;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_peer_slot::reserved");
  config.slots = nullptr;
  EXPECT_STREQ(failureOf(create).call, "rdmagpu_software_peer_config::slots");
  config.slot_count = 0;
  EXPECT_STREQ(failureOf(create).code_name, "SlotCountZero");
  EXPECT_EQ(made, nullptr);
}

TEST_F(CapiSoftwarePeer, CallbacksThatAreNoneAreRefused) {
  const auto peer = make();
  rdmagpu_frame_source source = RDMAGPU_INIT(rdmagpu_frame_source);
  rdmagpu_frame_sink sink = RDMAGPU_INIT(rdmagpu_frame_sink);
  const auto refused = [](const char* field, auto call) { EXPECT_STREQ(failureOf(call).call, field); };
  refused("rdmagpu_frame_source::next", [&](rdmagpu_error* e) {
    return rdmagpu_software_peer_start_capture(peer.get(), ring.get(), &source, e);
  });
  refused("rdmagpu_frame_sink::frame", [&](rdmagpu_error* e) {
    return rdmagpu_software_peer_start_playout(peer.get(), ring.get(), &sink, e);
  });
  sink.reserved = 1;
  refused("rdmagpu_frame_sink::reserved", [&](rdmagpu_error* e) {
    return rdmagpu_software_peer_start_playout(peer.get(), ring.get(), &sink, e);
  });
  const auto null = [](auto call) { EXPECT_STREQ(failureOf(call).code_name, "PointerNull"); };
  source = frames.source();
  null(
      [&](rdmagpu_error* e) { return rdmagpu_software_peer_start_capture(nullptr, ring.get(), &source, e); });
  null(
      [&](rdmagpu_error* e) { return rdmagpu_software_peer_start_capture(peer.get(), nullptr, &source, e); });
  null([&](rdmagpu_error* e) {
    return rdmagpu_software_peer_start_playout(peer.get(), ring.get(), nullptr, e);
  });
  null([&](rdmagpu_error* e) { return rdmagpu_software_peer_write(peer.get(), 0, 0, nullptr, 1, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_software_peer_read(nullptr, 0, 0, nullptr, 0, e); });
  rdmagpu_peer_counters counters = RDMAGPU_INIT(rdmagpu_peer_counters);
  null([&](rdmagpu_error* e) { return rdmagpu_software_peer_counters_of(nullptr, &counters, nullptr, e); });
  rdmagpu_software_peer_stop(nullptr);
  rdmagpu_software_peer_wait(nullptr);
  rdmagpu_software_peer_destroy(nullptr);
}

class CapiBlockPeer : public testing::Test {
protected:
  Owned<rdmagpu_buffer> buffer = makeBuffer(hostConfig(2, 65536));
  std::string path = "./capi_block_peer_XXXXXX";

  void SetUp() override {
    const int fd = mkstemp(path.data());
    std::FILE* file = fd >= 0 ? fdopen(fd, "wb") : nullptr;
    ASSERT_NE(file, nullptr);
    std::vector<unsigned char> bytes(1 << 20);
    rdmagpu_poison(bytes.data(), bytes.size(), 3);
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
  }
  void TearDown() override { std::remove(path.c_str()); }

  int open(std::uint32_t flags, Owned<rdmagpu_block_peer>& peer) {
    rdmagpu_block_peer* made = nullptr;
    rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
    const int kind = rdmagpu_block_peer_open(buffer.get(), path.c_str(), flags, &made, &error);
    peer.reset(made);
    return kind;
  }
};

TEST_F(CapiBlockPeer, ProvesBothDirectionsWhereItMayOverwrite) {
  Owned<rdmagpu_block_peer> peer;
  if(open(RDMAGPU_BLOCK_OVERWRITE, peer) == RDMAGPU_UNSUPPORTED)
    GTEST_SKIP() << "the file system has no direct I/O";
  ASSERT_TRUE(peer);
  rdmagpu_block_peer_facts facts = RDMAGPU_INIT(rdmagpu_block_peer_facts);
  ASSERT_EQ(rdmagpu_block_peer_facts_of(peer.get(), &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.agent, RDMAGPU_AGENT_SOFTWARE);
  EXPECT_EQ(std::string{facts.name}, "block:" + path);
  EXPECT_EQ(facts.size, 1U << 20);
  EXPECT_EQ(facts.pci.present, 0);
  EXPECT_GE(rdmagpu_block_peer_overwritten(peer.get(), 65536), 65536U);
  std::vector<unsigned char> in(65536, 5);
  std::vector<unsigned char> out(65536);
  ASSERT_EQ(rdmagpu_block_peer_write(peer.get(), 1, in.data(), in.size(), nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_block_peer_read(peer.get(), 1, out.data(), out.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(in, out);
  rdmagpu_report* made = nullptr;
  ASSERT_EQ(rdmagpu_block_peer_verify(peer.get(), buffer.get(), nullptr, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_report> report{made};
  peer.reset();
  rdmagpu_report_facts told = RDMAGPU_INIT(rdmagpu_report_facts);
  ASSERT_EQ(rdmagpu_report_facts_of(made, &told, nullptr), RDMAGPU_OK);
  EXPECT_EQ(told.write, RDMAGPU_YES);
  EXPECT_EQ(told.read, RDMAGPU_YES);
  EXPECT_EQ(std::string{told.peer}, "block:" + path);
}

TEST_F(CapiBlockPeer, OnlyFillsWhereItMayNot) {
  Owned<rdmagpu_block_peer> peer;
  if(open(0, peer) == RDMAGPU_UNSUPPORTED)
    GTEST_SKIP() << "the file system has no direct I/O";
  ASSERT_TRUE(peer);
  EXPECT_EQ(rdmagpu_block_peer_overwritten(peer.get(), 65536), 0U);
  std::vector<unsigned char> has(65536);
  std::vector<unsigned char> got(65536);
  ASSERT_EQ(rdmagpu_block_peer_fetch(peer.get(), 0, has.data(), has.size(), nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_block_peer_fill(peer.get(), 0, has.size(), nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_buffer_download(buffer.get(), 0, 0, got.data(), got.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(has, got);
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) {
              return rdmagpu_block_peer_write(peer.get(), 0, has.data(), has.size(), e);
            }).kind,
            RDMAGPU_UNSUPPORTED);
}

TEST_F(CapiBlockPeer, BadArgumentsAreRefused) {
  rdmagpu_block_peer* made = nullptr;
  rdmagpu_report* report = nullptr;
  rdmagpu_block_peer_facts facts = RDMAGPU_INIT(rdmagpu_block_peer_facts);
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) {
              return rdmagpu_block_peer_open(buffer.get(), path.c_str(), 2, &made, e);
            }).kind,
            RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) {
              return rdmagpu_block_peer_open(buffer.get(), "/nowhere/at/all", 0, &made, e);
            }).kind,
            RDMAGPU_NOT_FOUND);
  const auto null = [](auto call) { EXPECT_STREQ(failureOf(call).code_name, "PointerNull"); };
  null([&](rdmagpu_error* e) { return rdmagpu_block_peer_open(buffer.get(), nullptr, 0, &made, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_block_peer_facts_of(nullptr, &facts, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_block_peer_fetch(nullptr, 0, nullptr, 0, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_block_peer_fill(nullptr, 0, 0, e); });
  null([&](rdmagpu_error* e) {
    return rdmagpu_block_peer_verify(nullptr, buffer.get(), nullptr, &report, e);
  });
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(rdmagpu_block_peer_overwritten(nullptr, 1), 0U);
  rdmagpu_block_peer_destroy(nullptr);
}

} // namespace
} // namespace rdmagpu::capitest
