#include "capi_support.hpp"

#include <cstring>

/// Callers of other versions.
namespace rdmagpu::capitest {
namespace {

template <class Struct>
struct Longer {
  Struct known = RDMAGPU_INIT(Struct);
  std::uint64_t added = 0;
  Longer() { known.struct_size = sizeof *this; }
};

int create(const rdmagpu_config& config, rdmagpu_error* error) {
  rdmagpu_buffer* buffer = nullptr;
  const int kind = rdmagpu_buffer_create(&config, &buffer, error);
  EXPECT_EQ(buffer != nullptr, kind == RDMAGPU_OK);
  rdmagpu_buffer_destroy(buffer);
  return kind;
}

TEST(CapiStruct, NewerCallerThatAsksForNothingNewIsServed) {
  Longer<rdmagpu_config> longer;
  longer.known = hostConfig();
  longer.known.struct_size = sizeof longer;
  EXPECT_EQ(create(longer.known, nullptr), RDMAGPU_OK);
}

TEST(CapiStruct, WhatOnlyANewerVersionKnowsIsRefused) {
  Longer<rdmagpu_config> longer;
  longer.known = hostConfig();
  longer.known.struct_size = sizeof longer;
  longer.added = 1;
  const rdmagpu_error error = failureOf([&](rdmagpu_error* e) { return create(longer.known, e); });
  EXPECT_EQ(error.kind, RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(error.bytes, sizeof longer);
  EXPECT_EQ(error.available, sizeof(rdmagpu_config));
}

TEST(CapiStruct, ASizeThatNoVersionHadIsRefusedWithBothFigures) {
  rdmagpu_config config = hostConfig();
  config.struct_size = 8;
  const rdmagpu_error error = failureOf([&](rdmagpu_error* e) { return create(config, e); });
  EXPECT_STREQ(error.code_name, "StructSize");
  EXPECT_EQ(error.bytes, 8U);
  EXPECT_EQ(error.available, sizeof(rdmagpu_config));
}

TEST(CapiStruct, WhatANewerCallerHasMoreIsZero) {
  const auto buffer = makeBuffer();
  Longer<rdmagpu_facts> longer;
  longer.added = 77;
  ASSERT_EQ(rdmagpu_buffer_facts(buffer.get(), &longer.known, nullptr), RDMAGPU_OK);
  EXPECT_EQ(longer.known.slot_count, 3U);
  EXPECT_EQ(longer.known.struct_size, sizeof longer);
  EXPECT_EQ(longer.added, 0U);
}

TEST(CapiStruct, AStructWithoutItsSizeIsNotFilled) {
  const auto buffer = makeBuffer();
  rdmagpu_slot slot{};
  slot.size = 5;
  const rdmagpu_error error =
      failureOf([&](rdmagpu_error* e) { return rdmagpu_buffer_slot(buffer.get(), 0, &slot, e); });
  EXPECT_STREQ(error.code_name, "StructSize");
  EXPECT_EQ(slot.size, 5U);
}

TEST(CapiStruct, AnErrorWithoutItsSizeIsLeftAlone) {
  rdmagpu_error error{};
  const rdmagpu_config none = RDMAGPU_INIT(rdmagpu_config);
  EXPECT_EQ(create(none, &error), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(error.kind, 0);
  EXPECT_EQ(error.call, nullptr);
}

TEST(CapiStruct, ReservedAndUnknownBitsAreRefused) {
  rdmagpu_config config = hostConfig();
  config.reserved = 1;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(config, e); }).call,
               "rdmagpu_config::reserved");
  config = hostConfig();
  config.flags = 1U << 20;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(config, e); }).call, "rdmagpu_config::flags");
  config = hostConfig();
  config.accepts = 1;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(config, e); }).call,
               "rdmagpu_config::accepts");
  config = hostConfig();
  config.gpu.named = 16;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(config, e); }).call,
               "rdmagpu_gpu_selector::named");
}

struct Number {
  const char* field;
  std::int32_t rdmagpu_config::*member;
};

class CapiNumber : public testing::TestWithParam<Number> {};

TEST_P(CapiNumber, ThatItsTypeDoesNotHaveIsRefusedByName) {
  for(const std::int32_t wrong : {-1, 9, 254}) {
    rdmagpu_config config = hostConfig();
    config.*GetParam().member = wrong;
    const rdmagpu_error error = failureOf([&](rdmagpu_error* e) { return create(config, e); });
    EXPECT_EQ(error.kind, RDMAGPU_INVALID_ARGUMENT);
    EXPECT_STREQ(error.call, GetParam().field);
    EXPECT_EQ(error.bytes, static_cast<std::uint32_t>(wrong));
  }
}

INSTANTIATE_TEST_SUITE_P(Fields, CapiNumber,
                         testing::Values(Number{"rdmagpu_config::api", &rdmagpu_config::api},
                                         Number{"rdmagpu_config::page_lock", &rdmagpu_config::page_lock},
                                         Number{"rdmagpu_config::huge_pages", &rdmagpu_config::huge_pages},
                                         Number{"rdmagpu_config::gpu_pin", &rdmagpu_config::gpu_pin},
                                         Number{"rdmagpu_config::cuda_memory", &rdmagpu_config::cuda_memory},
                                         Number{"rdmagpu_config::pcie_mapping",
                                                &rdmagpu_config::pcie_mapping},
                                         Number{"rdmagpu_config::rdma", &rdmagpu_config::rdma}));

} // namespace
} // namespace rdmagpu::capitest
