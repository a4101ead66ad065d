#include <program/operations.hpp>

#include <array>
#include <cstring>

namespace rdmagpu::testkit::operations {
namespace {

struct PickedDevice {
  const char* variant;
  int ordinal;
  api::Device device() const noexcept { return static_cast<api::Device>(ordinal); }
};

PickedDevice pickDevice(Session& s) {
  if(s.random.chance(70))
    return {"good", 0};
  return {"bad-device", s.random.of({-1, 64, 1000})};
}

} // namespace

void init(Session& s) {
  const unsigned flags = s.random.of({0U, 0U, 0U, 1U});
  s.call({.function = "cuInit",
          .variant = flags ? "bad-flags" : "good",
          .arguments = Arguments{}("flags", flags)},
         [&](std::string&) { return s.cuda.init(flags); });
}

void countDevices(Session& s) {
  const bool null = s.random.chance(20);
  s.call({.function = "cuDeviceGetCount", .variant = null ? "no-output" : "good"}, [&](std::string&) {
    int count = 0;
    return s.cuda.deviceGetCount(null ? nullptr : &count);
  });
}

void getDevice(Session& s) {
  const PickedDevice picked = pickDevice(s);
  s.call({.function = "cuDeviceGet",
          .variant = picked.variant,
          .arguments = Arguments{}("ordinal", picked.ordinal)},
         [&](std::string& value) {
           api::Device device{};
           const api::Status status = s.cuda.deviceGet(&device, picked.ordinal);
           if(status == api::Status::Success)
             value = std::to_string(static_cast<int>(device));
           return status;
         });
}

void getDeviceText(Session& s) {
  const PickedDevice picked = pickDevice(s);
  const int size = s.random.of({64, 64, 64, 13, 5, 1});
  const bool busId = s.random.chance(50);
  const bool isShort = size < 64 && std::strcmp(picked.variant, "good") == 0;
  s.call({.function = busId ? "cuDeviceGetPCIBusId" : "cuDeviceGetName",
          .variant = isShort ? "short" : picked.variant,
          .arguments = Arguments{}("size", size)("device", picked.ordinal)},
         [&](std::string& value) {
           std::array<char, 64> text{};
           text.fill('#');
           const api::Status status = busId ? s.cuda.deviceGetPciBusId(text.data(), size, picked.device())
                                            : s.cuda.deviceGetName(text.data(), size, picked.device());
           const auto room = static_cast<std::size_t>(size);
           if(status == api::Status::Success)
             value = strnlen(text.data(), room) < room ? "ends" : "does-not-end";
           return status;
         });
}

void getDeviceNumbers(Session& s) {
  const PickedDevice picked = pickDevice(s);
  const Arguments arguments = Arguments{}("device", picked.ordinal);
  if(s.random.chance(50)) {
    s.call({.function = "cuDeviceGetUuid_v2", .variant = picked.variant, .arguments = arguments},
           [&](std::string&) {
             api::Uuid uuid;
             return s.cuda.deviceGetUuid(&uuid, picked.device());
           });
    return;
  }
  s.call({.function = "cuDeviceTotalMem_v2", .variant = picked.variant, .arguments = arguments},
         [&](std::string&) {
           std::size_t bytes{};
           return s.cuda.deviceTotalMem(&bytes, picked.device());
         });
}

void getAttribute(Session& s) {
  using A = api::DeviceAttribute;
  const PickedDevice picked = pickDevice(s);
  const bool unknown = s.random.chance(20);
  const bool null = s.random.chance(5);
  const auto attribute =
      unknown ? s.random.of({static_cast<A>(0), static_cast<A>(9999)})
              : s.random.of({A::Integrated, A::VirtualMemoryManagementSupported,
                             A::HandleTypePosixFileDescriptorSupported, A::GpuDirectRdmaWithCudaVmmSupported,
                             A::GpuDirectRdmaSupported, A::GpuDirectRdmaFlushWritesOptions,
                             A::GpuDirectRdmaWritesOrdering, A::DmaBufSupported});
  std::string kind = unknown ? "unknown" : picked.variant;
  if(null)
    kind = "no-output";
  s.call({.function = "cuDeviceGetAttribute",
          .variant = kind,
          .arguments = Arguments{}("attribute", static_cast<unsigned>(attribute))("device", picked.ordinal)},
         [&](std::string& value) {
           int number = 0;
           const api::Status status =
               s.cuda.deviceGetAttribute(null ? nullptr : &number, attribute, picked.device());
           if(status == api::Status::Success)
             value = std::to_string(number);
           return status;
         });
}

void nameError(Session& s) {
  const unsigned code = s.random.of({1U, 2U, 999U, 123456U});
  s.call({.function = "cuGetErrorName",
          .variant = code == 123456 ? "unknown" : "good",
          .arguments = Arguments{}("code", code)},
         [&](std::string& value) {
           const char* text{};
           const api::Status status = s.cuda.getErrorName(static_cast<api::Status>(code), &text);
           value = text ? text : "null";
           return status;
         });
}

void getGranularity(Session& s) {
  const std::string variant = s.random.of({"good", "good", "good", "bad-device", "bad-type", "bad-location",
                                           "bad-handle-type", "recommended", "bad-option", "no-output"});
  api::AllocationProp prop{.allocFlags = {.gpuDirectRdmaCapable = s.random.chance(50)}};
  prop.requestedHandleTypes = s.random.of({api::HandleType::None, api::HandleType::PosixFileDescriptor});
  auto option = api::Granularity::Minimum;
  if(variant == "bad-device")
    prop.location.id = s.random.of({-1, 64});
  if(variant == "bad-type")
    prop.type =
        s.random.of({static_cast<api::AllocationType>(0), static_cast<api::AllocationType>(0x7FFFFFFF)});
  if(variant == "bad-location")
    prop.location.type =
        s.random.of({static_cast<api::LocationType>(0), static_cast<api::LocationType>(999)});
  if(variant == "bad-handle-type")
    prop.requestedHandleTypes =
        s.random.of({static_cast<api::HandleType>(2), static_cast<api::HandleType>(64)});
  if(variant == "recommended")
    option = static_cast<api::Granularity>(1);
  if(variant == "bad-option")
    option = static_cast<api::Granularity>(7);
  const Arguments arguments = Arguments{}("type", static_cast<unsigned>(prop.type))(
      "handles", static_cast<unsigned>(prop.requestedHandleTypes))(
      "location",
      std::to_string(static_cast<unsigned>(prop.location.type)) + ":" + std::to_string(prop.location.id))(
      "rdma", prop.allocFlags.gpuDirectRdmaCapable)("option", static_cast<unsigned>(option));
  s.call({.function = "cuMemGetAllocationGranularity", .variant = variant, .arguments = arguments},
         [&](std::string& value) {
           std::size_t bytes{};
           const api::Status status =
               s.cuda.memGetAllocationGranularity(variant == "no-output" ? nullptr : &bytes, &prop, option);
           if(status == api::Status::Success)
             value = std::to_string(bytes);
           return status;
         });
}

} // namespace rdmagpu::testkit::operations
