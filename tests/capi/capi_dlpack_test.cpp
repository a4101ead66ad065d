#include "capi_support.hpp"

#include <array>
#include <cstring>
#include <functional>

namespace rdmagpu::capitest {
namespace {

// As dlpack.h has them.
struct DlTensor {
  unsigned char* data;
  std::int32_t deviceType, deviceId, dimensions;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byteOffset;
};
struct Managed {
  DlTensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  DlTensor tensor;
};
struct Delete {
  template <class Tensor>
  void operator()(Tensor* tensor) const noexcept {
    tensor->deleter(tensor);
  }
};
template <class Tensor>
using Kept = std::unique_ptr<Tensor, Delete>;

constexpr std::array<std::int64_t, 3> frame{100, 250, 4};

rdmagpu_tensor frameOf(std::uint32_t slot, std::uint32_t flags = 0) {
  rdmagpu_tensor tensor = RDMAGPU_INIT(rdmagpu_tensor);
  tensor.slot = slot;
  tensor.shape = frame.data();
  tensor.dimensions = frame.size();
  tensor.type_code = 1;
  tensor.type_bits = 8;
  tensor.type_lanes = 1;
  tensor.flags = flags;
  return tensor;
}

template <class Tensor>
Kept<Tensor> tensorOf(const rdmagpu_buffer* buffer, const rdmagpu_tensor& wanted) {
  void* made = nullptr;
  EXPECT_EQ(rdmagpu_buffer_dlpack(buffer, &wanted, &made, nullptr), RDMAGPU_OK);
  return Kept<Tensor>{static_cast<Tensor*>(made)};
}

TEST(CapiDlpack, ATensorIsTheSlotAndOutlivesTheBuffer) {
  auto buffer = makeBuffer();
  const std::string bytes = "frame";
  ASSERT_EQ(rdmagpu_buffer_upload(buffer.get(), 1, 0, bytes.data(), bytes.size(), nullptr), RDMAGPU_OK);
  const auto kept = tensorOf<Managed>(buffer.get(), frameOf(1));
  buffer.reset();
  const DlTensor& tensor = kept->tensor;
  EXPECT_EQ(std::memcmp(tensor.data, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(tensor.deviceType, 1);
  EXPECT_EQ(tensor.dimensions, 3);
  EXPECT_EQ(tensor.shape[1], 250);
  EXPECT_EQ(tensor.strides[0], 1000);
  EXPECT_EQ(tensor.strides[2], 1);
  EXPECT_EQ(tensor.byteOffset, 0U);
}

TEST(CapiDlpack, TheVersionedOneSaysItsVersionAndWhetherItMayBeWritten) {
  const auto buffer = makeBuffer();
  const auto kept =
      tensorOf<Versioned>(buffer.get(), frameOf(0, RDMAGPU_TENSOR_VERSIONED | RDMAGPU_TENSOR_READ_ONLY));
  EXPECT_EQ(kept->major, 1U);
  EXPECT_EQ(kept->flags, 1U);
  EXPECT_EQ(kept->tensor.code, 1);
  EXPECT_EQ(tensorOf<Versioned>(buffer.get(), frameOf(0, RDMAGPU_TENSOR_VERSIONED))->flags, 0U);
}

TEST(CapiDlpack, StridesAndOffsetReachIntoTheSlot) {
  const auto buffer = makeBuffer();
  rdmagpu_tensor wanted = frameOf(2);
  const std::array<std::int64_t, 3> strides{1024, 4, 1};
  const std::array<std::int64_t, 3> shape{90, 250, 4};
  wanted.shape = shape.data();
  wanted.strides = strides.data();
  wanted.offset = 64;
  const auto whole = tensorOf<Managed>(buffer.get(), frameOf(2));
  const auto kept = tensorOf<Managed>(buffer.get(), wanted);
  EXPECT_EQ(kept->tensor.data, whole->tensor.data + 64);
  EXPECT_EQ(kept->tensor.strides[0], 1024);
}

TEST(CapiDlpack, ASlotOfAGpuIsOnThatGpu) {
  rdmagpu_config config = hostConfig();
  config.api = RDMAGPU_API_CUDA;
  config.cuda_device = 1;
  const auto buffer = makeBuffer(config);
  std::int32_t type = 0;
  std::int32_t id = 0;
  ASSERT_EQ(rdmagpu_buffer_dlpack_device(buffer.get(), &type, &id, nullptr), RDMAGPU_OK);
  EXPECT_EQ(type, 2);
  EXPECT_EQ(id, 1);
  EXPECT_EQ(tensorOf<Managed>(buffer.get(), frameOf(0))->tensor.deviceId, 1);
}

TEST(CapiDlpack, PinnedHostMemoryIsToldAsThatUnlessAskedForAsTheCpus) {
  rdmagpu_config config = hostConfig();
  config.gpu_pin = RDMAGPU_GPU_PIN_REQUIRE;
  const auto buffer = makeBuffer(config);
  rdmagpu_tensor wanted = frameOf(0);
  EXPECT_EQ(tensorOf<Managed>(buffer.get(), wanted)->tensor.deviceType, 3);
  wanted.device_type = 1;
  EXPECT_EQ(tensorOf<Managed>(buffer.get(), wanted)->tensor.deviceType, 1);
}

TEST(CapiDlpack, WhatIsNoTensorOfTheSlotIsRefused) {
  const auto buffer = makeBuffer();
  const std::array<std::int64_t, 3> tooLong{100, 251, 400};
  const std::array<std::int64_t, 3> negative{1, -1, 1};
  const std::array<std::int64_t, 3> endless{INT64_MAX, INT64_MAX, 2};
  const std::array<std::function<void(rdmagpu_tensor&)>, 12> faults{
      [](auto& t) { t.slot = 3; },
      [&](auto& t) { t.shape = tooLong.data(); },
      [&](auto& t) { t.shape = negative.data(); },
      [&](auto& t) { t.shape = endless.data(); },
      [&](auto& t) { t.strides = negative.data(); },
      [&](auto& t) { t.strides = endless.data(); },
      [](auto& t) { t.offset = UINT64_MAX; },
      [](auto& t) { t.shape = nullptr; },
      [](auto& t) { t.type_bits = 4; },
      [](auto& t) { t.type_lanes = 0; },
      [](auto& t) { t.flags = RDMAGPU_TENSOR_READ_ONLY; },
      [](auto& t) { t.device_type = 2; },
  };
  for(const auto& fault : faults) {
    rdmagpu_tensor wanted = frameOf(0);
    fault(wanted);
    void* made = buffer.get();
    EXPECT_EQ(failureOf([&](rdmagpu_error* e) {
                return rdmagpu_buffer_dlpack(buffer.get(), &wanted, &made, e);
              }).kind,
              RDMAGPU_INVALID_ARGUMENT);
    EXPECT_EQ(made, nullptr);
  }
  rdmagpu_tensor deep = frameOf(0);
  deep.dimensions = 65;
  void* made = nullptr;
  EXPECT_EQ(rdmagpu_buffer_dlpack(buffer.get(), &deep, &made, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(rdmagpu_buffer_dlpack(buffer.get(), nullptr, &made, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(rdmagpu_buffer_dlpack(nullptr, &deep, &made, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(rdmagpu_buffer_dlpack_device(buffer.get(), nullptr, nullptr, nullptr), RDMAGPU_INVALID_ARGUMENT);
}

TEST(CapiDlpack, ATensorOfNothingOrOfOneIsOne) {
  const auto buffer = makeBuffer();
  rdmagpu_tensor scalar = frameOf(0);
  scalar.dimensions = 0;
  scalar.shape = nullptr;
  EXPECT_EQ(tensorOf<Managed>(buffer.get(), scalar)->tensor.dimensions, 0);
  rdmagpu_tensor none = frameOf(0);
  const std::array<std::int64_t, 3> shape{0, 250, 4};
  none.shape = shape.data();
  EXPECT_EQ(tensorOf<Managed>(buffer.get(), none)->tensor.shape[0], 0);
}

} // namespace
} // namespace rdmagpu::capitest
