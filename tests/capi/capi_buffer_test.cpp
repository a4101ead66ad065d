#include "capi_support.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace rdmagpu::capitest {
namespace {

rdmagpu_slot slotOf(const rdmagpu_buffer* buffer, std::uint32_t index) {
  rdmagpu_slot slot = RDMAGPU_INIT(rdmagpu_slot);
  EXPECT_EQ(rdmagpu_buffer_slot(buffer, index, &slot, nullptr), RDMAGPU_OK);
  return slot;
}

/// Host memory, and that of the software device.
class CapiBuffer : public testing::TestWithParam<std::int32_t> {
protected:
  rdmagpu_config config = [] {
    rdmagpu_config wanted = hostConfig();
    wanted.api = GetParam();
    return wanted;
  }();
  Owned<rdmagpu_buffer> buffer = makeBuffer(config);
};

TEST_P(CapiBuffer, HasEqualSlotsOfOneRegion) {
  ASSERT_EQ(rdmagpu_buffer_slot_count(buffer.get()), 3U);
  const rdmagpu_slot first = slotOf(buffer.get(), 0);
  for(std::uint32_t i = 0; i < 3; ++i) {
    const rdmagpu_slot slot = slotOf(buffer.get(), i);
    EXPECT_EQ(slot.handoff_kind,
              GetParam() == RDMAGPU_API_CUDA ? RDMAGPU_HANDOFF_CUDA_POINTER : RDMAGPU_HANDOFF_HOST_POINTER);
    EXPECT_EQ(slot.size, 131072U);
    EXPECT_EQ(slot.offset, i * slot.size);
    EXPECT_EQ(slot.handoff, first.handoff + slot.offset);
    EXPECT_EQ(slot.handoff % 65536, 0U);
  }
}

TEST_P(CapiBuffer, BytesGoInAndOutAndAreComparedWhereTheyLie) {
  std::vector<unsigned char> in(1000);
  rdmagpu_poison(in.data(), in.size(), 7);
  ASSERT_EQ(rdmagpu_buffer_upload(buffer.get(), 1, 64, in.data(), in.size(), nullptr), RDMAGPU_OK);
  std::vector<unsigned char> out(in.size());
  ASSERT_EQ(rdmagpu_buffer_flush_peer_writes(buffer.get(), nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_buffer_download(buffer.get(), 1, 64, out.data(), out.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(in, out);
  std::uint64_t sum = 0;
  ASSERT_EQ(rdmagpu_buffer_checksum(buffer.get(), 1, 64, in.size(), &sum, nullptr), RDMAGPU_OK);
  EXPECT_EQ(sum, rdmagpu_checksum(in.data(), in.size()));
  ASSERT_EQ(rdmagpu_buffer_poison(buffer.get(), 1, 9, nullptr), RDMAGPU_OK);
  rdmagpu_poison(in.data(), in.size(), 9);
  ASSERT_EQ(rdmagpu_buffer_download(buffer.get(), 1, 0, out.data(), out.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(in, out);
  ASSERT_EQ(rdmagpu_buffer_clear(buffer.get(), 1, nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_buffer_download(buffer.get(), 1, 0, out.data(), out.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(out, std::vector<unsigned char>(out.size()));
}

TEST_P(CapiBuffer, WhatPassesTheEndIsRefusedAndMovesNothing) {
  std::array<unsigned char, 16> bytes{};
  bytes.fill(0xee);
  const std::uint64_t end = slotOf(buffer.get(), 0).size;
  const auto refused = [&](auto call) { EXPECT_STREQ(failureOf(call).code_name, "RangeOutOfSlot"); };
  refused([&](rdmagpu_error* e) {
    return rdmagpu_buffer_upload(buffer.get(), 0, end - 8, bytes.data(), bytes.size(), e);
  });
  refused([&](rdmagpu_error* e) {
    return rdmagpu_buffer_download(buffer.get(), 0, end - 8, bytes.data(), bytes.size(), e);
  });
  refused([&](rdmagpu_error* e) {
    return rdmagpu_buffer_download(buffer.get(), 0, std::numeric_limits<std::uint64_t>::max(), bytes.data(),
                                   2, e);
  });
  std::uint64_t sum = 5;
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_checksum(buffer.get(), 0, end, 1, &sum, e); });
  EXPECT_EQ(sum, 5U);
  EXPECT_EQ(bytes[0], 0xee);
}

TEST_P(CapiBuffer, ASlotThatIsNotThereIsNamed) {
  rdmagpu_slot slot = RDMAGPU_INIT(rdmagpu_slot);
  rdmagpu_dma_buf* exported = nullptr;
  rdmagpu_keep_alive* kept = nullptr;
  std::uint64_t sum{};
  const auto refused = [&](auto call) {
    const rdmagpu_error error = failureOf(call);
    EXPECT_STREQ(error.code_name, "SlotOutOfRange");
    EXPECT_NE(messageOf(error).find('3'), std::string::npos) << messageOf(error);
  };
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_slot(buffer.get(), 3, &slot, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_export_slot(buffer.get(), 3, &exported, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_keep_alive(buffer.get(), 3, &kept, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_upload(buffer.get(), 3, 0, &sum, 8, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_download(buffer.get(), 3, 0, &sum, 8, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_checksum(buffer.get(), 3, 0, 8, &sum, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_poison(buffer.get(), 3, 0, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_clear(buffer.get(), 3, e); });
  EXPECT_EQ(exported, nullptr);
  EXPECT_EQ(kept, nullptr);
}

TEST_P(CapiBuffer, FactsAndProofAreItsOwn) {
  rdmagpu_facts facts = RDMAGPU_INIT(rdmagpu_facts);
  ASSERT_EQ(rdmagpu_buffer_facts(buffer.get(), &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.api, GetParam());
  EXPECT_EQ(facts.slot_count, 3U);
  EXPECT_EQ(facts.frame_bytes, 100'000U);
  EXPECT_EQ(facts.requested_bytes, 300'000U);
  EXPECT_EQ(facts.slot_stride, 131072U);
  EXPECT_EQ(facts.region_count, 1U);
  EXPECT_GE(facts.committed_bytes, facts.slot_stride * 3);
  EXPECT_NE(std::string{facts.device}, "");
  const bool cuda = GetParam() == RDMAGPU_API_CUDA;
  EXPECT_EQ(facts.pci.present != 0, cuda);
  EXPECT_EQ(facts.rdma_capable, cuda ? RDMAGPU_YES : RDMAGPU_UNKNOWN);
  EXPECT_EQ(facts.memfd != 0, !cuda);
  rdmagpu_proof proof = RDMAGPU_INIT(rdmagpu_proof);
  ASSERT_EQ(rdmagpu_buffer_proof(buffer.get(), &proof, nullptr), RDMAGPU_OK);
  EXPECT_EQ(proof.allocated, RDMAGPU_YES);
  EXPECT_EQ(proof.written, RDMAGPU_UNKNOWN);
  EXPECT_EQ(proof.by, RDMAGPU_AGENT_NONE);
}

TEST_P(CapiBuffer, MemoryLivesAsLongAsWhatKeepsIt) {
  rdmagpu_keep_alive* made = nullptr;
  ASSERT_EQ(rdmagpu_buffer_keep_alive(buffer.get(), 0, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_keep_alive> kept{made};
  const rdmagpu_slot slot = slotOf(buffer.get(), 0);
  buffer.reset();
  if(slot.handoff_kind == RDMAGPU_HANDOFF_HOST_POINTER)
    std::memset(reinterpret_cast<void*>(slot.handoff), 1, slot.size); // a sanitizer or a fault would tell
}

INSTANTIATE_TEST_SUITE_P(Apis, CapiBuffer, testing::Values(RDMAGPU_API_HOST, RDMAGPU_API_CUDA),
                         [](const auto& api) { return std::string{rdmagpu_api_name(api.param)}; });

TEST(CapiCudaBuffer, ExportsARegionAndASlot) {
  rdmagpu_config config = hostConfig();
  config.api = RDMAGPU_API_CUDA;
  const auto buffer = makeBuffer(config);
  for(const bool region : {true, false}) {
    rdmagpu_dma_buf* made = nullptr;
    ASSERT_EQ(region ? rdmagpu_buffer_export_region(buffer.get(), &made, nullptr)
                     : rdmagpu_buffer_export_slot(buffer.get(), 1, &made, nullptr),
              RDMAGPU_OK);
    const Owned<rdmagpu_dma_buf> exported{made};
    rdmagpu_dma_buf_facts facts = RDMAGPU_INIT(rdmagpu_dma_buf_facts);
    ASSERT_EQ(rdmagpu_dma_buf_facts_of(made, &facts, nullptr), RDMAGPU_OK);
    EXPECT_GE(facts.fd, 0);
    EXPECT_EQ(facts.size, region ? 3 * 131072U : 131072U);
    rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
    ASSERT_EQ(rdmagpu_dma_buf_pcie_reason(made, &reason, nullptr), RDMAGPU_OK);
    EXPECT_EQ(reason.kind, RDMAGPU_OK);
    const int fd = rdmagpu_dma_buf_release(made);
    EXPECT_EQ(fd, facts.fd);
    EXPECT_EQ(rdmagpu_dma_buf_release(made), -1);
    EXPECT_EQ(close(fd), 0);
  }
  EXPECT_EQ(rdmagpu_dma_buf_release(nullptr), -1);
}

TEST(CapiCudaBuffer, ReasonsOfItsFactsAreTold) {
  rdmagpu_config config = hostConfig();
  config.api = RDMAGPU_API_CUDA;
  const auto buffer = makeBuffer(config);
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_EQ(rdmagpu_buffer_reason(buffer.get(), RDMAGPU_REASON_SYNC_MEMOPS, &reason, nullptr), RDMAGPU_OK);
  EXPECT_STREQ(reason.code_name, "CUDA_ERROR_NOT_SUPPORTED");
  ASSERT_EQ(rdmagpu_buffer_reason(buffer.get(), RDMAGPU_REASON_CUDA_MEMORY, &reason, nullptr), RDMAGPU_OK);
  EXPECT_EQ(reason.kind, RDMAGPU_OK);
  EXPECT_EQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_buffer_reason(buffer.get(), 99, &reason, e); }).kind,
      RDMAGPU_INVALID_ARGUMENT);
  EXPECT_FALSE(rdmagpu_buffer_tolerated(buffer.get(), rdmagpu_buffer_tolerated_count(buffer.get()), &reason));
}

TEST(CapiCudaBuffer, GrantsNoAccessToAGpuThatIsNotThere) {
  rdmagpu_config config = hostConfig();
  config.api = RDMAGPU_API_CUDA;
  const auto buffer = makeBuffer(config);
  rdmagpu_gpu_selector gpu{};
  gpu.named = RDMAGPU_GPU_BY_ORDINAL;
  gpu.ordinal = 9;
  EXPECT_EQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_buffer_grant_access(buffer.get(), &gpu, e); }).kind,
      RDMAGPU_NOT_FOUND);
}

TEST(CapiAutoBuffer, TellsWhatItPassedOver) {
  rdmagpu_config config = hostConfig();
  config.api = RDMAGPU_API_AUTO;
  config.accepts = RDMAGPU_ACCEPTS(RDMAGPU_HANDOFF_HOST_POINTER);
  const auto buffer = makeBuffer(config);
  EXPECT_EQ(slotOf(buffer.get(), 0).handoff_kind, RDMAGPU_HANDOFF_HOST_POINTER);
  ASSERT_GE(rdmagpu_buffer_rejected_count(buffer.get()), 1U);
  std::int32_t api = -1;
  rdmagpu_error why = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_TRUE(rdmagpu_buffer_rejected(buffer.get(), 0, &api, &why));
  EXPECT_EQ(api, RDMAGPU_API_CUDA);
  EXPECT_EQ(why.kind, RDMAGPU_UNSUPPORTED);
  EXPECT_FALSE(rdmagpu_buffer_rejected(buffer.get(), 99, &api, &why));
}

TEST(CapiHostBuffer, OptionsArrive) {
  rdmagpu_config config = hostConfig();
  config.flags = RDMAGPU_FORBID_MEMFD | RDMAGPU_ZERO_FILL | RDMAGPU_SCRUB_ON_DESTROY | RDMAGPU_IGNORE_BUDGET;
  const auto buffer = makeBuffer(config);
  rdmagpu_facts facts = RDMAGPU_INIT(rdmagpu_facts);
  ASSERT_EQ(rdmagpu_buffer_facts(buffer.get(), &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.memfd, 0U);
  rdmagpu_shared* shared = nullptr;
  EXPECT_STREQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_buffer_share(buffer.get(), &shared, e); }).code_name,
      "NotMemfd");

  config = hostConfig();
  config.flags = RDMAGPU_BIND_NUMA_NODE;
  config.numa_node = 4000;
  const auto create = [&](rdmagpu_error* e) {
    rdmagpu_buffer* made = nullptr;
    return rdmagpu_buffer_create(&config, &made, e);
  };
  EXPECT_STREQ(failureOf(create).code_name, "NodeOutOfRange");
  config.flags = 0;
  makeBuffer(config); // then nobody reads it
}

TEST(CapiHostBuffer, HowManySlotsThereIsRoomForIsTold) {
  rdmagpu_config config = hostConfig();
  std::uint32_t slots = 0;
  ASSERT_EQ(rdmagpu_max_slots(&config, &slots, nullptr), RDMAGPU_OK);
  EXPECT_GT(slots, 10U);
  config.frame_bytes = 0;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return rdmagpu_max_slots(&config, &slots, e); }).code_name,
               "FrameBytesZero");
}

TEST(CapiHostBuffer, IsSharedThroughASocketAndByAToken) {
  const auto buffer = makeBuffer();
  rdmagpu_shared* made = nullptr;
  ASSERT_EQ(rdmagpu_buffer_share(buffer.get(), &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_shared> shared{made};
  EXPECT_GE(rdmagpu_shared_fd(made), 0);
  std::array<int, 2> sockets{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
  ASSERT_EQ(rdmagpu_shared_send(made, sockets[0], nullptr), RDMAGPU_OK);
  rdmagpu_buffer* attached = nullptr;
  ASSERT_EQ(rdmagpu_buffer_attach_socket(sockets[1], &attached, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_buffer> bySocket{attached};
  close(sockets[0]);
  close(sockets[1]);

  std::size_t length = 0;
  ASSERT_EQ(rdmagpu_shared_token(made, nullptr, 0, &length, nullptr), RDMAGPU_OK);
  std::string token(length, '\0');
  ASSERT_EQ(rdmagpu_shared_token(made, token.data(), length + 1, &length, nullptr), RDMAGPU_OK);
  const pid_t child = fork();
  if(child == 0) { // the token's descriptor is used up by who attaches
    rdmagpu_buffer* inherited = nullptr;
    const unsigned char byte = 42;
    const bool good = rdmagpu_buffer_attach_token(token.c_str(), &inherited, nullptr) == RDMAGPU_OK &&
                      rdmagpu_buffer_upload(inherited, 2, 0, &byte, 1, nullptr) == RDMAGPU_OK;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  unsigned char seen = 0;
  ASSERT_EQ(rdmagpu_buffer_download(bySocket.get(), 2, 0, &seen, 1, nullptr), RDMAGPU_OK);
  EXPECT_EQ(seen, 42);
  EXPECT_EQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_buffer_attach_token("nonsense", &attached, e); }).kind,
      RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(attached, nullptr);
}

TEST(CapiNull, IsRefusedEverywhereAndDestroyedForNothing) {
  const auto buffer = makeBuffer();
  const rdmagpu_config config = hostConfig();
  std::uint64_t number{};
  rdmagpu_buffer* made = buffer.get();
  rdmagpu_facts facts = RDMAGPU_INIT(rdmagpu_facts);
  rdmagpu_dma_buf* exported = nullptr;
  const auto refused = [&](auto call) {
    const rdmagpu_error error = failureOf(call);
    EXPECT_STREQ(error.code_name, "PointerNull");
    EXPECT_NE(std::string{error.call}, "");
  };
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_create(nullptr, &made, e); });
  EXPECT_EQ(made, nullptr);
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_create(&config, nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_max_slots(&config, nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_facts(nullptr, &facts, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_facts(buffer.get(), nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_slot(nullptr, 0, nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_upload(buffer.get(), 0, 0, nullptr, 1, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_download(buffer.get(), 0, 0, nullptr, 1, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_checksum(buffer.get(), 0, 0, 1, nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_poison(nullptr, 0, 1, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_clear(nullptr, 0, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_flush_peer_writes(nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_grant_access(buffer.get(), nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_export_region(nullptr, &exported, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_export_region(buffer.get(), nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_buffer_attach_token(nullptr, &made, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_shared_token(nullptr, nullptr, 0, nullptr, e); });
  refused([&](rdmagpu_error* e) { return rdmagpu_shared_send(nullptr, 0, e); });
  EXPECT_EQ(rdmagpu_buffer_upload(buffer.get(), 0, 0, nullptr, 0, nullptr), RDMAGPU_OK);
  EXPECT_EQ(rdmagpu_buffer_slot_count(nullptr), 0U);
  EXPECT_EQ(rdmagpu_shared_fd(nullptr), -1);
  EXPECT_EQ(rdmagpu_buffer_tolerated_count(nullptr), 0U);
  EXPECT_EQ(rdmagpu_buffer_rejected_count(nullptr), 0U);
  rdmagpu_buffer_destroy(nullptr);
  rdmagpu_dma_buf_destroy(nullptr);
  rdmagpu_shared_destroy(nullptr);
  rdmagpu_keep_alive_release(nullptr);
  rdmagpu_backends_destroy(nullptr);
  static_cast<void>(number);
}

} // namespace
} // namespace rdmagpu::capitest
