#include <capi/call.hpp>
#include <capi/objects.hpp>
#include <rdmagpu/c/dlpack.h>
#include <rdmagpu/inspect.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

using namespace rdmagpu;

namespace {

// As dlpack.h has them.

enum : std::int32_t { DlCpu = 1, DlCuda = 2, DlCudaHost = 3 };

struct DLDevice {
  std::int32_t type{};
  std::int32_t id{};
};
struct DLTensor {
  void* data{};
  DLDevice device;
  std::int32_t ndim{};
  std::uint8_t code{};
  std::uint8_t bits{};
  std::uint16_t lanes{};
  std::int64_t* shape{};
  std::int64_t* strides{};
  std::uint64_t byteOffset{};
};
struct DLManagedTensor {
  DLTensor tensor;
  void* managerCtx{};
  void (*deleter)(DLManagedTensor*){};
};
struct DLManagedTensorVersioned {
  std::uint32_t major{};
  std::uint32_t minor{};
  void* managerCtx{};
  void (*deleter)(DLManagedTensorVersioned*){};
  std::uint64_t flags{};
  DLTensor tensor;
};
constexpr std::uint64_t dlReadOnly = 1;

constexpr std::size_t maxDimensions = 64;

/// What the deleter frees: the struct, what it points to, and the hold on the memory.
template <class Managed>
struct Holder {
  Managed managed;
  std::array<std::int64_t, maxDimensions> shape{};
  std::array<std::int64_t, maxDimensions> strides{};
  std::shared_ptr<const void> kept;
};

/// As dlpack.h asks, without a throw; on whatever thread.
template <class Managed>
void deleteHolder(Managed* managed) {
  delete static_cast<Holder<Managed>*>(managed->managerCtx);
}

Result<DLDevice> deviceOf(const char* call, const RdmaGpuBuffer& buffer) {
  const Handoff handoff = buffer.handoff(0);
  if(cpuAddress(handoff))
    return DLDevice{.type = buffer.facts().pinnedBy == PinnedBy::Cuda ? DlCudaHost : DlCpu, .id = 0};
  if(kind(handoff) != HandoffKind::CudaPointer)
    return libraryError(call, LibraryCode::PeerCannotAddress);
  const auto memory = inspect(reinterpret_cast<const void*>(addressBits(handoff)), buffer.slot(0).size);
  if(!memory)
    return memory.error();
  if(!memory->gpu)
    return libraryError(call, LibraryCode::PeerCannotAddress);
  return DLDevice{.type = DlCuda, .id = memory->gpu->ordinal};
}

/// The bytes from the first element to the end of the last one; nothing where there is no such number.
std::optional<std::uint64_t> extent(const rdmagpu_tensor& tensor, const std::int64_t* strides) noexcept {
  std::uint64_t last = 0;
  for(std::uint32_t i = 0; i < tensor.dimensions; ++i) {
    if(tensor.shape[i] == 0)
      return 0;
    std::uint64_t reach = 0;
    if(__builtin_mul_overflow(static_cast<std::uint64_t>(tensor.shape[i] - 1),
                              static_cast<std::uint64_t>(strides[i]), &reach) ||
       __builtin_add_overflow(last, reach, &last))
      return {};
  }
  std::uint64_t bytes = 0;
  const std::uint64_t each = std::uint64_t{tensor.type_bits} / 8 * tensor.type_lanes;
  if(__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, each, &bytes))
    return {};
  return bytes;
}

Result<void> checkType(const rdmagpu_tensor& tensor) noexcept {
  if(tensor.type_bits == 0 || tensor.type_bits % 8 != 0)
    return libraryError("rdmagpu_tensor::type_bits", LibraryCode::ValueUnknown, tensor.type_bits);
  if(tensor.type_lanes == 0)
    return libraryError("rdmagpu_tensor::type_lanes", LibraryCode::ValueUnknown, tensor.type_lanes);
  if(tensor.dimensions > maxDimensions)
    return libraryError("rdmagpu_tensor::dimensions", LibraryCode::ValueUnknown, tensor.dimensions,
                        maxDimensions);
  constexpr std::uint32_t known = RDMAGPU_TENSOR_VERSIONED | RDMAGPU_TENSOR_READ_ONLY;
  if((tensor.flags & ~known) != 0 || tensor.flags == RDMAGPU_TENSOR_READ_ONLY)
    return libraryError("rdmagpu_tensor::flags", LibraryCode::ValueUnknown, tensor.flags, known);
  return {};
}

/// The tensor's shape and strides, which must stay in the slot.
Result<void> fillShape(const char* call, const rdmagpu_tensor& tensor, std::size_t slotBytes,
                       std::array<std::int64_t, maxDimensions>& shape,
                       std::array<std::int64_t, maxDimensions>& strides) noexcept {
  std::int64_t dense = 1;
  for(std::uint32_t i = tensor.dimensions; i-- > 0;) {
    shape[i] = tensor.shape[i];
    strides[i] = tensor.strides ? tensor.strides[i] : dense;
    if(shape[i] < 0 || strides[i] < 0 ||
       __builtin_mul_overflow(dense, std::max<std::int64_t>(shape[i], 1), &dense))
      return libraryError(call, LibraryCode::RangeOutOfSlot, UINT64_MAX, slotBytes);
  }
  const auto bytes = extent(tensor, strides.data());
  std::uint64_t end = 0;
  if(!bytes || __builtin_add_overflow(*bytes, tensor.offset, &end) || end > slotBytes)
    return libraryError(call, LibraryCode::RangeOutOfSlot, end == 0 ? UINT64_MAX : end, slotBytes);
  return {};
}

template <class Managed>
Result<void> make(const char* call, const RdmaGpuBuffer& buffer, const rdmagpu_tensor& tensor,
                  DLDevice device, void** to) {
  auto holder = std::make_unique<Holder<Managed>>();
  const RdmaGpuSlot slot = buffer.slot(tensor.slot);
  if(const auto fits = fillShape(call, tensor, slot.size, holder->shape, holder->strides); !fits)
    return fits;
  holder->kept = buffer.keepAlive(tensor.slot);
  holder->managed.tensor = {
      .data = reinterpret_cast<void*>(addressBits(buffer.handoff(tensor.slot)) + tensor.offset),
      .device = device,
      .ndim = static_cast<std::int32_t>(tensor.dimensions),
      .code = tensor.type_code,
      .bits = tensor.type_bits,
      .lanes = tensor.type_lanes,
      .shape = holder->shape.data(),
      .strides = holder->strides.data(),
      .byteOffset = 0}; // some consumers overlook it
  holder->managed.managerCtx = holder.get();
  holder->managed.deleter = deleteHolder<Managed>;
  if constexpr(std::is_same_v<Managed, DLManagedTensorVersioned>) {
    holder->managed.major = 1;
    holder->managed.flags = (tensor.flags & RDMAGPU_TENSOR_READ_ONLY) != 0 ? dlReadOnly : 0;
  }
  *to = &holder.release()->managed;
  return {};
}

Result<void> makeTensor(const char* call, const RdmaGpuBuffer& buffer, const rdmagpu_tensor* from,
                        void** to) {
  const auto tensor = capi::read(call, from);
  if(!tensor)
    return tensor.error();
  if(tensor->slot >= buffer.slotCount())
    return libraryError(call, LibraryCode::SlotOutOfRange, tensor->slot, buffer.slotCount());
  if(const auto good = checkType(*tensor); !good)
    return good;
  if(!tensor->shape && tensor->dimensions != 0)
    return libraryError(call, LibraryCode::PointerNull);
  auto device = deviceOf(call, buffer);
  if(!device)
    return device.error();
  if(tensor->device_type != 0 && tensor->device_type != device->type) {
    if(tensor->device_type != DlCpu || device->type != DlCudaHost)
      return libraryError("rdmagpu_tensor::device_type", LibraryCode::ValueUnknown,
                          static_cast<std::uint32_t>(tensor->device_type),
                          static_cast<std::uint32_t>(device->type));
    device->type = DlCpu;
  }
  return (tensor->flags & RDMAGPU_TENSOR_VERSIONED) != 0
             ? make<DLManagedTensorVersioned>(call, buffer, *tensor, *device, to)
             : make<DLManagedTensor>(call, buffer, *tensor, *device, to);
}

} // namespace

extern "C" {

int rdmagpu_buffer_dlpack_device(const rdmagpu_buffer* buffer, int32_t* type, int32_t* id,
                                 rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_buffer_dlpack_device";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, buffer, type, id); !given)
      return given;
    const auto device = deviceOf(call, buffer->value);
    if(!device)
      return device.error();
    *type = device->type;
    *id = device->id;
    return {};
  });
}

int rdmagpu_buffer_dlpack(const rdmagpu_buffer* buffer, const rdmagpu_tensor* tensor, void** managed,
                          rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_buffer_dlpack";
  if(managed)
    *managed = nullptr;
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, buffer, managed); !given)
      return given;
    return makeTensor(call, buffer->value, tensor, managed);
  });
}

} // extern "C"
