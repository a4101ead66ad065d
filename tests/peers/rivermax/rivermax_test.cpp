#include "software_rivermax.hpp"

#include <contract/cuda_driver.hpp>
#include <rdmagpu/peers/rivermax.hpp>

#include <gmock/gmock.h>

#include <utility>

namespace rdmagpu::rivermaxtest {
namespace {

using peers::PeerRegistration;
using peers::rivermaxRegistrar;
using testing::IsEmpty;

class Rivermax : public test::OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    reset();
  }
  void TearDown() override {
    OnCudaStandin::TearDown();
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_EQ(registered(), 0U);
  }
  static RdmaGpuBuffer makeBuffer(RdmaGpuApi api) {
    auto made = RdmaGpuBuffer::make(
        {.api = api, .slotCount = 3, .frameBytes = 100'000, .host = {.lock = PageLock::Off}});
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
};

TEST_F(Rivermax, OneKeyOfEachNicReachesAllSlots) {
  for(const RdmaGpuApi api : {RdmaGpuApi::HostFallback, RdmaGpuApi::Cuda}) {
    const RdmaGpuBuffer buffer = makeBuffer(api);
    const auto first = PeerRegistration::make(buffer, rivermaxRegistrar(nic(1)));
    const auto second = PeerRegistration::make(buffer, rivermaxRegistrar(nic(2)));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(registered(), 2U);
    EXPECT_NE(first->slot(0).key, second->slot(0).key);
    for(std::size_t i = 0; i < 3; ++i) {
      const auto slot = second->slot(i);
      EXPECT_EQ(slot.key, second->slot(0).key);
      const auto key = static_cast<rmx_mkey_id>(slot.key);
      EXPECT_TRUE(reaches(nic(2), key, peers::rivermaxAddress(slot.handoff), slot.bytes));
      EXPECT_FALSE(reaches(nic(1), key, peers::rivermaxAddress(slot.handoff), slot.bytes));
    }
    EXPECT_EQ(first->proof().registered, Answer::Yes);
    EXPECT_EQ(first->proof().read, Answer::Unknown); // a key is no proof
  }
}

TEST_F(Rivermax, ASecondNicThatRefusesLeavesTheFirstToItsOwner) {
  reset({{"rmx_register_memory", RMX_NO_MEMORY}}, 2);
  const RdmaGpuBuffer buffer = makeBuffer(RdmaGpuApi::HostFallback);
  const auto first = PeerRegistration::make(buffer, rivermaxRegistrar(nic(1)));
  ASSERT_TRUE(first);
  const auto second = PeerRegistration::make(buffer, rivermaxRegistrar(nic(2)));
  ASSERT_FALSE(second);
  EXPECT_STREQ(second.error().call, "rmx_register_memory");
  EXPECT_EQ(second.error().code, RMX_NO_MEMORY);
  EXPECT_EQ(second.error().bytes, 3U * 131072);
  EXPECT_EQ(registered(), 1U);
}

TEST_F(Rivermax, AKeyThatIsNotTakenBackIsTriedAgain) {
  auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::HostFallback), rivermaxRegistrar(nic(1)));
  ASSERT_TRUE(made);
  const auto key = static_cast<rmx_mkey_id>(made->slot(0).key);
  rmx_mem_region other{peers::rivermaxAddress(made->slot(0).handoff), 3 * 131072, key};
  const rmx_device_iface iface = nic(1);
  ASSERT_EQ(rmx_deregister_memory(&other, &iface), RMX_OK); // behind its back
  const auto released = made->release();
  ASSERT_FALSE(released);
  EXPECT_STREQ(released.error().call, "rmx_deregister_memory");
  rmx_mem_reg_params params{iface};
  reset(); // keys start anew: the same one
  ASSERT_EQ(rmx_register_memory(&other, &params), RMX_OK);
  ASSERT_EQ(other.mkey, key);
  EXPECT_TRUE(made->release());
}

} // namespace
} // namespace rdmagpu::rivermaxtest
