#include "capi_support.hpp"

#include <unistd.h>

#include <array>
#include <vector>

namespace rdmagpu::capitest {
namespace {

TEST(CapiInspect, SaysWhatHeapIs) {
  std::vector<unsigned char> heap(1 << 20);
  rdmagpu_memory_facts facts = RDMAGPU_INIT(rdmagpu_memory_facts);
  std::array<char, 400> why{};
  ASSERT_EQ(rdmagpu_inspect(heap.data(), heap.size(), &facts, why.data(), why.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.kind, RDMAGPU_MEMORY_PRIVATE);
  EXPECT_EQ(facts.gpu, 0U);
  EXPECT_EQ(facts.writable, 1U);
  EXPECT_EQ(facts.copied_on_fork, 1U);
  EXPECT_NE(std::string{why.data()}, "");
  EXPECT_EQ(rdmagpu_inspect(heap.data(), heap.size(), &facts, nullptr, 0, nullptr), RDMAGPU_OK);
}

TEST(CapiInspect, SaysWhatASlotOfAGpuIs) {
  rdmagpu_config config = hostConfig();
  config.api = RDMAGPU_API_CUDA;
  const auto buffer = makeBuffer(config);
  rdmagpu_slot slot = RDMAGPU_INIT(rdmagpu_slot);
  ASSERT_EQ(rdmagpu_buffer_slot(buffer.get(), 1, &slot, nullptr), RDMAGPU_OK);
  rdmagpu_memory_facts facts = RDMAGPU_INIT(rdmagpu_memory_facts);
  ASSERT_EQ(
      rdmagpu_inspect(reinterpret_cast<const void*>(slot.handoff), slot.size, &facts, nullptr, 0, nullptr),
      RDMAGPU_OK);
  EXPECT_EQ(facts.kind, RDMAGPU_MEMORY_GPU_VIRTUAL);
  EXPECT_EQ(facts.gpu, 1U);
  EXPECT_EQ(facts.gpu_api, RDMAGPU_API_CUDA);
  EXPECT_EQ(facts.gpu_rdma_capable, RDMAGPU_YES);
  EXPECT_EQ(facts.gpu_pci.present, 1);
}

TEST(CapiInspect, NullIsAnError) {
  rdmagpu_memory_facts facts = RDMAGPU_INIT(rdmagpu_memory_facts);
  EXPECT_EQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_inspect(nullptr, 10, &facts, nullptr, 0, e); }).kind,
      RDMAGPU_INVALID_ARGUMENT);
}

struct Heard {
  int count{};
  std::int32_t level = -1;
  std::string text;
  bool error{};
};

void hear(void* context, std::int32_t level, const char* text, const rdmagpu_error* error) {
  auto& heard = *static_cast<Heard*>(context);
  ++heard.count;
  heard.level = level;
  heard.text = text;
  heard.error = error != nullptr && rdmagpu_error_message(error, nullptr, 0) != 0;
}

/// A descriptor that was closed behind the library's back is what it can only log.
TEST(CapiLog, ASinkHearsWhatCannotBeReturnedUntilItIsTakenAway) {
  const auto fail = [] {
    rdmagpu_config config = hostConfig();
    config.api = RDMAGPU_API_CUDA;
    const auto buffer = makeBuffer(config);
    rdmagpu_dma_buf* made = nullptr;
    rdmagpu_dma_buf_facts facts = RDMAGPU_INIT(rdmagpu_dma_buf_facts);
    ASSERT_EQ(rdmagpu_buffer_export_slot(buffer.get(), 0, &made, nullptr), RDMAGPU_OK);
    ASSERT_EQ(rdmagpu_dma_buf_facts_of(made, &facts, nullptr), RDMAGPU_OK);
    ASSERT_EQ(close(facts.fd), 0);
    rdmagpu_dma_buf_destroy(made);
  };
  Heard heard;
  rdmagpu_set_log_sink(hear, &heard);
  fail();
  EXPECT_EQ(heard.count, 1);
  EXPECT_EQ(heard.level, RDMAGPU_LOG_FAILURE);
  EXPECT_NE(heard.text, "");
  EXPECT_TRUE(heard.error);
  rdmagpu_set_log_sink(nullptr, nullptr);
  fail();
  EXPECT_EQ(heard.count, 1);
}

} // namespace
} // namespace rdmagpu::capitest
