#pragma once
#include <rdmagpu/peers/registrar.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::peers {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t frameBytes = 100'001; ///< A slot has 131072.

inline RdmaGpuBuffer makeBuffer(std::uint32_t slots = 3) {
  auto made = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback,
                                   .slotCount = slots,
                                   .frameBytes = frameBytes,
                                   .host = {.lock = PageLock::Off}});
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

/// An SDK that pins nothing, and tells what it was asked to do.
struct FakeSdk {
  std::vector<std::string> calls;
  std::vector<PinView> pinned;
  int refusePin = -1; ///< The n-th, from 0.
  int refuseUnpin{};  ///< So many.
  int refuseQuiesce{};
  void (*explode)(){}; ///< Called within each callback.

  Registrar registrar(PinUnit unit = PinUnit::Slot) {
    Registrar r{.name = "fake", .unit = unit};
    r.pin = [this](const PinView& view) -> Result<std::uint64_t> {
      if(explode)
        explode();
      if(refusePin-- == 0)
        return peerError("FakePin", 17, "FAKE_FULL", Errc::OutOfMemory);
      pinned.push_back(view);
      calls.push_back("pin " + std::to_string(view.slot));
      return 100 + view.slot;
    };
    r.unpin = [this](const PinView& view, std::uint64_t key) -> Result<void> {
      if(refuseUnpin > 0 && refuseUnpin--)
        return peerError("FakeUnpin", 18);
      calls.push_back("unpin " + std::to_string(view.slot));
      EXPECT_EQ(key, 100 + view.slot);
      return {};
    };
    r.quiesce = [this]() -> Result<void> {
      if(refuseQuiesce > 0 && refuseQuiesce--)
        return peerError("FakeQuiesce", 19, "", Errc::Busy);
      calls.emplace_back("quiesce");
      return {};
    };
    return r;
  }
};

/// The peer's DMA: the CPU, to what it can address.
inline Result<void> writeSlot(const PinnedSlot& slot, std::span<const std::byte> bytes) {
  std::memcpy(cpuAddress(slot.handoff), bytes.data(), bytes.size());
  return {};
}
inline Result<void> readSlot(const PinnedSlot& slot, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), cpuAddress(slot.handoff), bytes.size());
  return {};
}

} // namespace rdmagpu::peers
