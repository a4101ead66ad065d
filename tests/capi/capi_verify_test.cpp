#include "capi_support.hpp"

#include <cerrno>
#include <cstring>

namespace rdmagpu::capitest {
namespace {

struct Report {
  Owned<rdmagpu_report> owned;
  rdmagpu_report_facts facts = RDMAGPU_INIT(rdmagpu_report_facts);
  rdmagpu_proof proof = RDMAGPU_INIT(rdmagpu_proof);
};

Report verify(const rdmagpu_buffer* buffer, const rdmagpu_peer* peer) {
  rdmagpu_report* made = nullptr;
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  EXPECT_EQ(rdmagpu_verify(buffer, peer, nullptr, &made, &error), RDMAGPU_OK) << messageOf(error);
  Report report{.owned = Owned<rdmagpu_report>{made}};
  EXPECT_EQ(rdmagpu_report_facts_of(made, &report.facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(rdmagpu_report_proof(made, &report.proof, nullptr), RDMAGPU_OK);
  return report;
}

TEST(CapiVerify, ASoftwarePeerProvesBothDirections) {
  const auto buffer = makeBuffer();
  const Report report = verify(buffer.get(), nullptr);
  EXPECT_EQ(report.facts.slots, 3U);
  EXPECT_STREQ(report.facts.peer, "software");
  EXPECT_EQ(report.facts.write, RDMAGPU_YES);
  EXPECT_EQ(report.facts.read, RDMAGPU_YES);
  EXPECT_EQ(report.facts.failure_count, 0U);
  EXPECT_EQ(report.proof.written, RDMAGPU_YES);
  EXPECT_EQ(report.proof.by, RDMAGPU_AGENT_SOFTWARE);
}

/// A peer of the caller's own, on host slots.
struct OwnPeer {
  const rdmagpu_buffer* buffer{};
  bool drops{}; ///< Says that it wrote, and did not.

  std::byte* at(std::uint32_t slot) const {
    rdmagpu_slot found = RDMAGPU_INIT(rdmagpu_slot);
    rdmagpu_buffer_slot(buffer, slot, &found, nullptr);
    return reinterpret_cast<std::byte*>(found.handoff);
  }
  rdmagpu_peer peer() {
    rdmagpu_peer made = RDMAGPU_INIT(rdmagpu_peer);
    made.name = "own";
    made.agent = RDMAGPU_AGENT_CPU;
    made.context = this;
    made.write = [](void* context, std::uint32_t slot, const void* bytes, std::size_t size, rdmagpu_error*) {
      const auto& self = *static_cast<OwnPeer*>(context);
      if(!self.drops)
        std::memcpy(self.at(slot), bytes, size);
      return static_cast<int>(RDMAGPU_OK);
    };
    made.read = [](void* context, std::uint32_t slot, void* bytes, std::size_t size, rdmagpu_error*) {
      std::memcpy(bytes, static_cast<OwnPeer*>(context)->at(slot), size);
      return static_cast<int>(RDMAGPU_OK);
    };
    return made;
  }
};

TEST(CapiVerify, APeerOfOnesOwnIsAsked) {
  const auto buffer = makeBuffer();
  OwnPeer own{.buffer = buffer.get()};
  const rdmagpu_peer peer = own.peer();
  const Report report = verify(buffer.get(), &peer);
  EXPECT_STREQ(report.facts.peer, "own");
  EXPECT_EQ(report.facts.write, RDMAGPU_YES);
  EXPECT_EQ(report.facts.read, RDMAGPU_YES);
  EXPECT_EQ(report.proof.by, RDMAGPU_AGENT_CPU);
}

TEST(CapiVerify, WhatDidNotArriveIsToldSlotBySlot) {
  const auto buffer = makeBuffer();
  OwnPeer own{.buffer = buffer.get(), .drops = true};
  const rdmagpu_peer peer = own.peer();
  const Report report = verify(buffer.get(), &peer);
  EXPECT_EQ(report.facts.write, RDMAGPU_NO);
  EXPECT_EQ(report.facts.read, RDMAGPU_YES);
  ASSERT_EQ(report.facts.failure_count, 3U);
  for(std::uint32_t i = 0; i < 3; ++i) {
    rdmagpu_verify_failure failure = RDMAGPU_INIT(rdmagpu_verify_failure);
    rdmagpu_error cause = RDMAGPU_INIT(rdmagpu_error);
    ASSERT_TRUE(rdmagpu_report_failure(report.owned.get(), i, &failure, &cause));
    EXPECT_EQ(failure.slot, i);
    EXPECT_EQ(failure.read, 0U);
    EXPECT_EQ(failure.untouched, 1U);
    EXPECT_EQ(cause.kind, RDMAGPU_OK);
  }
  rdmagpu_verify_failure beyond = RDMAGPU_INIT(rdmagpu_verify_failure);
  EXPECT_FALSE(rdmagpu_report_failure(report.owned.get(), 3, &beyond, nullptr));
  EXPECT_FALSE(rdmagpu_report_failure(nullptr, 0, &beyond, nullptr));
}

TEST(CapiVerify, ATransferThatFailsSaysWhy) {
  const auto buffer = makeBuffer();
  OwnPeer own{.buffer = buffer.get()};
  rdmagpu_peer peer = own.peer();
  peer.write = [](void*, std::uint32_t, const void*, std::size_t, rdmagpu_error* error) {
    error->code = EIO;
    error->call = "card_write";
    return static_cast<int>(RDMAGPU_LOST);
  };
  peer.read = nullptr;
  const Report report = verify(buffer.get(), &peer);
  EXPECT_EQ(report.facts.write, RDMAGPU_NO);
  EXPECT_EQ(report.facts.read, RDMAGPU_UNKNOWN);
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_EQ(rdmagpu_report_reason(report.owned.get(), false, &reason, nullptr), RDMAGPU_OK);
  EXPECT_EQ(reason.kind, RDMAGPU_LOST);
  EXPECT_EQ(reason.origin, RDMAGPU_ORIGIN_PEER);
  EXPECT_EQ(reason.code, EIO);
  EXPECT_STREQ(reason.call, "card_write");
  ASSERT_EQ(rdmagpu_report_reason(report.owned.get(), true, &reason, nullptr), RDMAGPU_OK);
  EXPECT_STREQ(reason.code_name, "PeerTransferMissing");
}

TEST(CapiVerify, BadArgumentsAreRefused) {
  const auto buffer = makeBuffer();
  rdmagpu_report* report = nullptr;
  rdmagpu_peer peer = RDMAGPU_INIT(rdmagpu_peer);
  peer.agent = 77;
  const auto call = [&](rdmagpu_error* e) {
    return rdmagpu_verify(buffer.get(), &peer, nullptr, &report, e);
  };
  EXPECT_STREQ(failureOf(call).call, "rdmagpu_peer::agent");
  rdmagpu_verify_options options = RDMAGPU_INIT(rdmagpu_verify_options);
  options.bytes = 1 << 30;
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) {
              return rdmagpu_verify(buffer.get(), nullptr, &options, &report, e);
            }).kind,
            RDMAGPU_INVALID_ARGUMENT);
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_verify(nullptr, nullptr, nullptr, &report, e);
               }).code_name,
               "PointerNull");
  rdmagpu_report_destroy(nullptr);
}

} // namespace
} // namespace rdmagpu::capitest
