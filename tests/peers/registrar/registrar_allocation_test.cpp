#include <contract/allocation_faults.hpp>
#include <rdmagpu/peers/registrar.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstring>

namespace rdmagpu::peers {
namespace {

Registrar counting(int& pinned, PinUnit unit) {
  Registrar registrar{.name = "counting", .unit = unit};
  registrar.pin = [&pinned](const PinView&) -> Result<std::uint64_t> {
    return static_cast<std::uint64_t>(++pinned);
  };
  registrar.unpin = [&pinned](const PinView&, std::uint64_t) -> Result<void> {
    --pinned;
    return {};
  };
  registrar.write = [](const PinnedSlot& slot, std::span<const std::byte> bytes) -> Result<void> {
    std::memcpy(cpuAddress(slot.handoff), bytes.data(), bytes.size());
    return {};
  };
  registrar.verify = VerifyOptions{.bytes = 64};
  return registrar;
}

TEST(RegistrarAllocation, MakeSurvivesEachFailureAndLeavesNothingPinned) {
  const auto buffer = RdmaGpuBuffer::make(
      {.api = RdmaGpuApi::HostFallback, .slotCount = 3, .frameBytes = 1000, .host = {.lock = PageLock::Off}});
  ASSERT_TRUE(buffer);
  for(const PinUnit unit : {PinUnit::Slot, PinUnit::Region}) {
    int pinned = 0;
    test::everyAllocationFailsOnce([&] { return PeerRegistration::make(*buffer, counting(pinned, unit)); },
                                   [&] { return std::to_string(pinned); });
    EXPECT_EQ(pinned, 0);
  }
}

TEST(RegistrarAllocation, ReleaseAllocatesNothing) {
  const auto buffer = RdmaGpuBuffer::make(
      {.api = RdmaGpuApi::HostFallback, .slotCount = 3, .frameBytes = 1000, .host = {.lock = PageLock::Off}});
  ASSERT_TRUE(buffer);
  int pinned = 0;
  auto made = PeerRegistration::make(*buffer, counting(pinned, PinUnit::Slot));
  ASSERT_TRUE(made);
  test::failAllocation(1);
  const bool released = made->release().has_value();
  EXPECT_FALSE(test::allocationFailed());
  test::failAllocation(0);
  EXPECT_TRUE(released);
  EXPECT_EQ(pinned, 0);
}

} // namespace
} // namespace rdmagpu::peers
