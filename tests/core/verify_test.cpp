#include <base/align.hpp>
#include <base/library_error.hpp>
#include <core/buffer_state.hpp>
#include <core/software_peer_fixture.hpp>
#include <rdmagpu/verify.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

namespace rdmagpu {
namespace {

using namespace peertest;

constexpr std::uint32_t slots = 4;
constexpr std::size_t frameBytes = (1U << 20) + 1000; // more than is compared at a time
constexpr std::size_t short_ = 1001;

/// Moves bytes for real, unless told to lie.
class Liar final : public Peer {
public:
  explicit Liar(const RdmaGpuBuffer& buffer) : m_card(makePeer(buffer)) {}

  const char* name() const noexcept override { return "liar"; }
  Agent agent() const noexcept override { return Agent::Device; }
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override {
    ++writes;
    return onWrite ? onWrite(slot, bytes) : m_card.write(slot, 0, bytes);
  }
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override {
    ++reads;
    return onRead ? onRead(slot, bytes) : m_card.read(slot, 0, bytes);
  }
  const SoftwarePeer& card() const noexcept { return m_card; }

  std::function<Result<void>(std::uint32_t, std::span<const std::byte>)> onWrite;
  std::function<Result<void>(std::uint32_t, std::span<std::byte>)> onRead;
  int writes{};
  int reads{};

private:
  SoftwarePeer m_card;
};

class Verify : public testing::Test {
protected:
  VerifyReport report(const VerifyOptions& options = {}) {
    auto verified = verify(buffer, peer, options);
    EXPECT_TRUE(verified) << verified.error().message();
    return verified ? *std::move(verified) : VerifyReport{};
  }
  RdmaGpuBuffer buffer = hostBuffer(slots, frameBytes);
  Liar peer{buffer};
};

Error busy() { return {.kind = Errc::Busy, .origin = Origin::Verbs, .code = 5, .call = "ibv_post_send"}; }
Error unsupported() { return {.kind = Errc::Unsupported, .origin = Origin::Verbs, .call = "ibv_reg_mr"}; }

TEST_F(Verify, ProvesAnHonestPeerInBothDirections) {
  const VerifyReport r = report();
  EXPECT_STREQ(r.peer, "liar");
  EXPECT_EQ(r.slots, slots);
  EXPECT_EQ(r.write, Answer::Yes);
  EXPECT_EQ(r.read, Answer::Yes);
  EXPECT_TRUE(r.failures.empty());
  EXPECT_EQ(r.writeError.kind, Errc::None);
  EXPECT_EQ(r.readError.kind, Errc::None);
  EXPECT_EQ(r.proof.allocated, Answer::Yes);
  EXPECT_EQ(r.proof.written, Answer::Yes);
  EXPECT_EQ(r.proof.read, Answer::Yes);
  EXPECT_EQ(r.proof.by, Agent::Device);
  EXPECT_EQ(peer.writes, static_cast<int>(slots));
  EXPECT_EQ(peer.reads, static_cast<int>(slots));
}

TEST_F(Verify, SendsWholeSlotsUnlessToldOtherwise) {
  std::vector<std::size_t> sizes;
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    sizes.push_back(bytes.size());
    return peer.card().write(slot, 0, bytes);
  };
  EXPECT_EQ(report().write, Answer::Yes);
  EXPECT_EQ(report({.bytes = short_}).write, Answer::Yes);
  const std::size_t whole = buffer.slot(0).size;
  EXPECT_EQ(sizes, (std::vector<std::size_t>{whole, whole, whole, whole, short_, short_, short_, short_}));
}

TEST_F(Verify, SendsDifferentBytesToEachSlotForEachSeed) {
  std::vector<Bytes> sent;
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    for(const Bytes& other : sent)
      EXPECT_FALSE(std::equal(bytes.begin(), bytes.end(), other.begin(), other.end()));
    sent.emplace_back(bytes.begin(), bytes.end());
    return peer.card().write(slot, 0, bytes);
  };
  EXPECT_EQ(report({.bytes = short_, .seed = 1}).write, Answer::Yes);
  EXPECT_EQ(report({.bytes = short_, .seed = 2}).write, Answer::Yes);
  EXPECT_EQ(sent.size(), 2 * slots);
}

TEST_F(Verify, SeesThatNothingWasWritten) {
  peer.onWrite = [](std::uint32_t, std::span<const std::byte>) { return Result<void>{}; };
  for(int run = 0; run < 2; ++run) { // nor is an earlier run's success mistaken for this one's
    const VerifyReport r = report();
    EXPECT_EQ(r.write, Answer::No);
    EXPECT_EQ(r.read, Answer::Yes);
    EXPECT_EQ(r.proof.written, Answer::No);
    EXPECT_EQ(r.writeError.kind, Errc::None) << "the transfer itself did not fail";
    ASSERT_EQ(r.failures.size(), slots);
    for(std::uint32_t slot = 0; slot < slots; ++slot) {
      EXPECT_EQ(r.failures[slot].slot, slot);
      EXPECT_EQ(r.failures[slot].direction, Direction::Write);
      EXPECT_TRUE(r.failures[slot].untouched);
      EXPECT_EQ(r.failures[slot].offset, 0u);
      EXPECT_EQ(r.failures[slot].wrongBytes, buffer.slot(slot).size);
    }
  }
}

TEST_F(Verify, DoesNotTakeAnEarlierRunsBytesForThisOnes) {
  EXPECT_EQ(report().write, Answer::Yes);
  peer.onWrite = [](std::uint32_t, std::span<const std::byte>) { return Result<void>{}; };
  const VerifyReport r = report();
  EXPECT_EQ(r.write, Answer::No);
  ASSERT_EQ(r.failures.size(), slots);
  EXPECT_TRUE(r.failures[0].untouched);
}

TEST_F(Verify, SeesThatNothingWasRead) {
  peer.onRead = [](std::uint32_t, std::span<std::byte>) { return Result<void>{}; };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.write, Answer::Yes);
  EXPECT_EQ(r.read, Answer::No);
  ASSERT_EQ(r.failures.size(), slots);
  EXPECT_EQ(r.failures[1].slot, 1u);
  EXPECT_EQ(r.failures[1].direction, Direction::Read);
  EXPECT_TRUE(r.failures[1].untouched);
  EXPECT_EQ(r.failures[1].wrongBytes, short_);
}

TEST_F(Verify, FindsASingleWrongByteInAWrite) {
  constexpr std::size_t at = (1U << 20) + 5;
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    Bytes changed(bytes.begin(), bytes.end());
    if(slot == 2)
      changed[at] ^= std::byte{1};
    return peer.card().write(slot, 0, changed);
  };
  const VerifyReport r = report();
  EXPECT_EQ(r.write, Answer::No);
  ASSERT_EQ(r.failures.size(), 1u);
  EXPECT_EQ(r.failures[0].slot, 2u);
  EXPECT_EQ(r.failures[0].offset, at);
  EXPECT_EQ(r.failures[0].wrongBytes, 1u);
  EXPECT_FALSE(r.failures[0].untouched);
}

TEST_F(Verify, FindsASingleWrongByteInARead) {
  peer.onRead = [&](std::uint32_t slot, std::span<std::byte> bytes) {
    auto outcome = peer.card().read(slot, 0, bytes);
    if(slot == 3)
      bytes[17] ^= std::byte{0x80};
    return outcome;
  };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.read, Answer::No);
  ASSERT_EQ(r.failures.size(), 1u);
  EXPECT_EQ(r.failures[0].slot, 3u);
  EXPECT_EQ(r.failures[0].direction, Direction::Read);
  EXPECT_EQ(r.failures[0].offset, 17u);
  EXPECT_EQ(r.failures[0].wrongBytes, 1u);
  EXPECT_FALSE(r.failures[0].untouched);
}

TEST_F(Verify, FindsTheEndThatWasNotWritten) {
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    return peer.card().write(slot, 0, bytes.first(bytes.size() - 3));
  };
  const VerifyReport r = report({.bytes = short_});
  ASSERT_EQ(r.failures.size(), slots);
  EXPECT_EQ(r.failures[0].offset, short_ - 3);
  EXPECT_EQ(r.failures[0].wrongBytes, 3u);
  EXPECT_FALSE(r.failures[0].untouched);
}

TEST_F(Verify, FindsTheEndThatWasNotRead) {
  peer.onRead = [&](std::uint32_t slot, std::span<std::byte> bytes) {
    return peer.card().read(slot, 0, bytes.first(1000));
  };
  const VerifyReport r = report({.bytes = short_});
  ASSERT_EQ(r.failures.size(), slots);
  EXPECT_EQ(r.failures[0].offset, 1000u);
  EXPECT_EQ(r.failures[0].wrongBytes, 1u);
}

TEST_F(Verify, FindsAWriteBehindWhatWasSent) {
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    Bytes more(bytes.begin(), bytes.end());
    more.resize(bytes.size() + 2); // zeros; the poison there may hold one
    Bytes behind(2);
    EXPECT_TRUE(peer.card().read(slot, bytes.size(), behind));
    more[bytes.size()] = ~behind[0];
    more[bytes.size() + 1] = ~behind[1];
    return peer.card().write(slot, 0, more);
  };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.write, Answer::No);
  ASSERT_EQ(r.failures.size(), slots);
  EXPECT_EQ(r.failures[0].offset, short_);
  EXPECT_EQ(r.failures[0].wrongBytes, 2u);
  EXPECT_FALSE(r.failures[0].untouched);
}

TEST_F(Verify, FindsWritesToTheWrongSlot) {
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    return peer.card().write((slot + 1) % slots, 0, bytes);
  };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.write, Answer::No);
  EXPECT_EQ(r.failures.size(), slots);
}

TEST_F(Verify, FindsAWriteThatAlsoHitsASlotBeforeItsTurn) {
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    if(slot == 0) {
      EXPECT_TRUE(peer.card().write(2, 8, bytes.first(16)));
    }
    return peer.card().write(slot, 0, bytes);
  };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.write, Answer::No);
  ASSERT_EQ(r.failures.size(), 1u);
  EXPECT_EQ(r.failures[0].slot, 2u);
  EXPECT_GE(r.failures[0].offset, 8u);
  EXPECT_LT(r.failures[0].offset, 24u);
  EXPECT_FALSE(r.failures[0].untouched);
}

TEST_F(Verify, FindsAWriteThatAlsoHitsASlotThatWasDone) {
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    if(slot == 3) {
      EXPECT_TRUE(peer.card().write(1, 0, bytes));
    }
    return peer.card().write(slot, 0, bytes);
  };
  const VerifyReport r = report({.bytes = short_});
  ASSERT_EQ(r.failures.size(), 1u);
  EXPECT_EQ(r.failures[0].slot, 1u);
}

TEST_F(Verify, FindsReadsOfTheWrongSlot) {
  peer.onRead = [&](std::uint32_t slot, std::span<std::byte> bytes) {
    return peer.card().read(slot ^ 1U, 0, bytes);
  };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.read, Answer::No);
  ASSERT_EQ(r.failures.size(), slots);
  EXPECT_FALSE(r.failures[0].untouched);
}

TEST_F(Verify, ADirectionThatThePeerLacksIsNotTriedAndNoFailure) {
  peer.onWrite = [](std::uint32_t, std::span<const std::byte>) { return Result<void>{unsupported()}; };
  const VerifyReport r = report();
  EXPECT_EQ(r.write, Answer::Unknown);
  EXPECT_EQ(r.proof.written, Answer::Unknown);
  EXPECT_STREQ(r.writeError.call, "ibv_reg_mr");
  EXPECT_EQ(r.read, Answer::Yes);
  EXPECT_EQ(r.proof.by, Agent::Device);
  EXPECT_TRUE(r.failures.empty());
  EXPECT_EQ(peer.writes, 1);
}

TEST_F(Verify, NoAgentIsNamedWhereNothingMoved) {
  peer.onWrite = [](std::uint32_t, std::span<const std::byte>) { return Result<void>{unsupported()}; };
  peer.onRead = [](std::uint32_t, std::span<std::byte>) { return Result<void>{unsupported()}; };
  const VerifyReport r = report();
  EXPECT_EQ(r.read, Answer::Unknown);
  EXPECT_EQ(r.readError.kind, Errc::Unsupported);
  EXPECT_EQ(r.proof.by, Agent::None);
}

TEST_F(Verify, AFailedTransferNamesItsSlotAndTheOthersAreStillTried) {
  peer.onWrite = [&](std::uint32_t slot, std::span<const std::byte> bytes) {
    return slot == 1 || slot == 2 ? Result<void>{busy()} : peer.card().write(slot, 0, bytes);
  };
  peer.onRead = [&](std::uint32_t slot, std::span<std::byte> bytes) {
    return slot == 0 ? Result<void>{busy()} : peer.card().read(slot, 0, bytes);
  };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.write, Answer::No);
  EXPECT_EQ(r.read, Answer::No);
  EXPECT_EQ(r.writeError.slot, 1);
  EXPECT_EQ(r.readError.slot, 0);
  EXPECT_STREQ(r.writeError.call, "ibv_post_send");
  ASSERT_EQ(r.failures.size(), 3u);
  for(const VerifyFailure& failure : r.failures) {
    EXPECT_EQ(failure.error.kind, Errc::Busy);
    EXPECT_EQ(failure.error.slot, static_cast<std::int32_t>(failure.slot));
    EXPECT_EQ(failure.wrongBytes, 0u);
    EXPECT_FALSE(failure.untouched);
  }
  EXPECT_EQ(peer.writes, static_cast<int>(slots));
}

TEST_F(Verify, ALaterRefusalIsAFailureNotALack) {
  peer.onRead = [&](std::uint32_t slot, std::span<std::byte> bytes) {
    return slot == 3 ? Result<void>{unsupported()} : peer.card().read(slot, 0, bytes);
  };
  const VerifyReport r = report({.bytes = short_});
  EXPECT_EQ(r.read, Answer::No);
  ASSERT_EQ(r.failures.size(), 1u);
  EXPECT_EQ(r.failures[0].error.slot, 3);
}

TEST_F(Verify, RefusesMoreBytesThanASlotHasBeforeTouchingAny) {
  const std::size_t room = buffer.slot(0).size;
  const auto verified = verify(buffer, peer, {.bytes = room + 1});
  ASSERT_FALSE(verified);
  expectCode(verified.error(), LibraryCode::RangeOutOfSlot);
  EXPECT_EQ(verified.error().bytes, room + 1);
  EXPECT_EQ(verified.error().available, room);
  EXPECT_EQ(inSlot(buffer, 0, room), Bytes(room));
}

TEST_F(Verify, RefusesAnEmptyBuffer) {
  const RdmaGpuBuffer nothing;
  const auto through = verify(nothing, peer);
  ASSERT_FALSE(through);
  expectCode(through.error(), LibraryCode::BufferEmpty);
  const auto software = verify(nothing);
  ASSERT_FALSE(software);
  expectCode(software.error(), LibraryCode::BufferEmpty);
}

TEST_F(Verify, SoftwarePeerProvesHostSlots) {
  const auto r = verify(buffer);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_STREQ(r->peer, "software");
  EXPECT_EQ(r->write, Answer::Yes);
  EXPECT_EQ(r->read, Answer::Yes);
  EXPECT_EQ(r->proof.by, Agent::Software);
  EXPECT_TRUE(r->failures.empty());
}

TEST_F(Verify, SoftwarePeerTakesTheSameOptions) {
  EXPECT_TRUE(verify(buffer, {.bytes = 1}));
  const auto tooMuch = verify(buffer, {.bytes = buffer.slot(0).size + 1});
  ASSERT_FALSE(tooMuch);
  expectCode(tooMuch.error(), LibraryCode::RangeOutOfSlot);
}

/// Memory that no CPU can address, on a device whose copies can be made to fail.
struct Remote {
  bool failUpload{};
  bool failDownload{};
  bool failFlush{};
  int copies{};
};

class RemoteRegion final : public backend::Region {
public:
  explicit RemoteRegion(Remote& remote) : m_remote(remote) {}
  void* address(std::size_t) const noexcept override { return nullptr; }
  Handoff handoff(std::size_t offset) const noexcept override { return CudaPointer{0x10000 + offset}; }
  Result<void> upload(std::size_t, std::span<const std::byte>) const override {
    ++m_remote.copies;
    return m_remote.failUpload ? Result<void>{busy()} : Result<void>{};
  }
  Result<void> download(std::size_t, std::span<std::byte>) const override {
    return m_remote.failDownload ? Result<void>{busy()} : Result<void>{};
  }
  Result<void> flushPeerWrites() const override {
    return m_remote.failFlush ? Result<void>{busy()} : Result<void>{};
  }
  Result<std::uint64_t> checksum(std::size_t, std::size_t) const override { return busy(); }
  Result<void> poison(std::size_t, std::size_t, std::uint64_t) const override { return busy(); }
  Result<void> clear(std::size_t, std::size_t) const override { return busy(); }
  void describe(BufferFacts&) const override {}

private:
  Remote& m_remote;
};

class RemoteDevice final : public backend::Device {
public:
  explicit RemoteDevice(Remote& remote) : m_remote(remote) {}
  Result<backend::RegionPtr> allocate(const backend::RegionRequest&) override {
    return backend::RegionPtr{std::make_shared<const RemoteRegion>(m_remote)};
  }
  std::size_t slotGranularity() const noexcept override { return gpuPageBytes; }
  std::optional<backend::Budget> budget(const RdmaGpuBufferConfig&) const override { return {}; }

private:
  Remote& m_remote;
};

class Silent final : public Peer {
public:
  const char* name() const noexcept override { return "silent"; }
  Agent agent() const noexcept override { return Agent::Device; }
  Result<void> write(std::uint32_t, std::span<const std::byte>) override { return {}; }
  Result<void> read(std::uint32_t, std::span<std::byte>) override { return {}; }
};

class VerifyRemote : public testing::Test {
protected:
  VerifyRemote() {
    RemoteDevice device{remote};
    auto state = core::buildOn("test", RdmaGpuApi::Cuda, device, {.slotCount = 2, .frameBytes = 1});
    EXPECT_TRUE(state);
    buffer = core::BufferAccess::make(*std::move(state));
  }
  void expectFailed(std::int32_t slot) {
    const auto verified = verify(buffer, peer);
    ASSERT_FALSE(verified);
    EXPECT_EQ(verified.error().kind, Errc::Busy);
    EXPECT_EQ(verified.error().slot, slot);
  }
  Remote remote;
  RdmaGpuBuffer buffer;
  Silent peer;
};

TEST_F(VerifyRemote, SoftwarePeerSaysThatItTriedNothing) {
  const auto r = verify(buffer);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_STREQ(r->peer, "software");
  EXPECT_EQ(r->slots, 2u);
  EXPECT_EQ(r->write, Answer::Unknown);
  EXPECT_EQ(r->read, Answer::Unknown);
  expectCode(r->writeError, LibraryCode::PeerCannotAddress);
  expectCode(r->readError, LibraryCode::PeerCannotAddress);
  EXPECT_EQ(r->proof.allocated, Answer::Yes);
  EXPECT_EQ(r->proof.by, Agent::None);
  EXPECT_TRUE(r->failures.empty());
  EXPECT_EQ(remote.copies, 0);
}

TEST_F(VerifyRemote, ACopyOfTheBufferThatFailsIsNotThePeersFailure) {
  remote.failUpload = true;
  expectFailed(0);
}

TEST_F(VerifyRemote, AComparisonThatCannotBeMadeIsNotThePeersFailure) {
  remote.failDownload = true;
  expectFailed(0);
}

TEST_F(VerifyRemote, AFlushThatFailsIsNotThePeersFailure) {
  remote.failFlush = true;
  expectFailed(0);
}

TEST_F(Verify, AReadThatChangesTheSlotIsFound) {
  peer.onRead = [&](std::uint32_t slot, std::span<std::byte> bytes) {
    const auto read = peer.card().read(slot, 0, bytes);
    const std::byte changed = bytes[3] ^ std::byte{1};
    return slot == 2 ? peer.card().write(slot, 3, {&changed, 1}) : read;
  };
  const auto found = report();
  EXPECT_EQ(found.write, Answer::Yes);
  EXPECT_EQ(found.read, Answer::No);
  ASSERT_EQ(found.failures.size(), 1U);
  EXPECT_EQ(found.failures.front().slot, 2U);
  EXPECT_EQ(found.failures.front().direction, Direction::Read);
  EXPECT_EQ(found.failures.front().offset, 3U);
  EXPECT_EQ(found.failures.front().wrongBytes, 1U);
}

} // namespace
} // namespace rdmagpu
