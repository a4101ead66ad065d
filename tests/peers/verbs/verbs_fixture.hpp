#pragma once
#include "nic_standin.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

namespace rdmagpu::nictest {

inline constexpr std::size_t frameBytes = 100'000;
inline constexpr std::size_t stride = 131072;

inline RdmaGpuBuffer makeBuffer(RdmaGpuBufferConfig config = {}) {
  if(config.api == RdmaGpuApi::None)
    config.api = RdmaGpuApi::HostFallback;
  config.slotCount = 4;
  config.frameBytes = frameBytes;
  auto made = RdmaGpuBuffer::make(config);
  EXPECT_TRUE(made) << made.error().message();
  return made ? *std::move(made) : RdmaGpuBuffer{};
}

inline RdmaGpuBuffer anonymousBuffer() { return makeBuffer({.host = {.forbidMemfd = true}}); }

/// One that must succeed.
inline VerbsRegistration registerOn(const RdmaGpuBuffer& buffer, const VerbsOptions& options = {},
                                    ibv_pd* pd = domain()) {
  auto made = VerbsRegistration::make(pd, buffer, options);
  EXPECT_TRUE(made) << made.error().message();
  return made ? *std::move(made) : VerbsRegistration{};
}

/// One that must be refused, with hints and nothing left.
inline Error refusalOf(const RdmaGpuBuffer& buffer, const VerbsOptions& options = {}, ibv_pd* pd = domain(),
                       std::vector<RegistrationAttempt>* attempts = nullptr) {
  const std::size_t before = live().size();
  const auto made = VerbsRegistration::make(pd, buffer, options, attempts);
  EXPECT_FALSE(made);
  if(made)
    return {};
  EXPECT_FALSE(made.error().hints().empty()) << made.error().message();
  EXPECT_EQ(live().size(), before);
  return made.error();
}

class Verbs : public testing::Test {
protected:
  void SetUp() override { reset(); }
  void TearDown() override {
    EXPECT_THAT(violations(), testing::IsEmpty());
    EXPECT_TRUE(live().empty());
    EXPECT_EQ(liveDevices(), 0U);
  }
};

} // namespace rdmagpu::nictest
