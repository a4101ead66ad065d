#include <rdmagpu/interop/cuda.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace rdmagpu {
namespace {

static_assert(std::is_same_v<decltype(interop::devicePointer(Handoff{})), std::optional<CUdeviceptr>>);

TEST(CudaInterop, DevicePointerIsTheHandoffs) {
  EXPECT_EQ(interop::devicePointer(Handoff{CudaPointer{0x7000'0001'0000}}), CUdeviceptr{0x7000'0001'0000});
}

TEST(CudaInterop, OtherHandoffsHaveNoDevicePointer) {
  int host{};
  EXPECT_FALSE(interop::devicePointer(Handoff{HostPointer{&host}}));
  EXPECT_FALSE(interop::devicePointer(Handoff{HipPointer{&host}}));
  EXPECT_FALSE(interop::devicePointer(Handoff{DmaBufOnly{}}));
  EXPECT_FALSE(interop::devicePointer(Handoff{}));
}

TEST(CudaInterop, HostSlotHasNoDevicePointer) {
  const auto buffer =
      RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 2, .frameBytes = 100});
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_FALSE(interop::devicePointer(*buffer, 1));
}

TEST(CudaInterop, CudaSlotsLieAtTheirDevicePointers) {
  const auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::Cuda, .slotCount = 2, .frameBytes = 100});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto first = interop::devicePointer(*buffer, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(interop::devicePointer(*buffer, 1), *first + buffer->slotOffset(1));
  EXPECT_FALSE(interop::devicePointer(*buffer, 2)) << "out of range";
}

TEST(CudaInterop, StreamsAndEventsKeepTheirValue) {
  int object{};
  EXPECT_EQ(interop::cudaStream(reinterpret_cast<CUstream>(&object)).value, &object);
  EXPECT_EQ(interop::cudaStream(CU_STREAM_LEGACY).value, static_cast<void*>(CU_STREAM_LEGACY));
  EXPECT_EQ(interop::cudaEvent(reinterpret_cast<CUevent>(&object)).value, &object);
}

} // namespace
} // namespace rdmagpu
