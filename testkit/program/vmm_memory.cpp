#include <program/operations.hpp>
#include <program/vmm.hpp>

#include <algorithm>

namespace rdmagpu::testkit::operations {

using vmm::most;
using vmm::page;
using vmm::PickedHandle;
using vmm::pickHandle;

void createMemory(Session& s) {
  if(s.model.handles.size() >= most)
    return;
  const std::size_t grain = s.model.granularity;
  const std::string variant =
      s.random.of({"good", "good", "good", "good", "good", "good", "bad-size", "zero-size", "huge",
                   "bad-device", "bad-type", "bad-location", "bad-handle-type", "bad-flags",
                   "bad-compression", "bad-usage", "no-output"});
  api::AllocationProp prop{.allocFlags = {.gpuDirectRdmaCapable = s.random.chance(70)}};
  prop.requestedHandleTypes = s.random.of({api::HandleType::None, api::HandleType::PosixFileDescriptor});
  std::size_t bytes = grain * (1 + s.random.below(3));
  unsigned long long flags = 0;
  if(variant == "bad-size")
    bytes = s.random.of({bytes + 1, bytes + page, bytes - page, grain / 2, page, std::size_t{1}});
  if(variant == "zero-size")
    bytes = 0;
  if(variant == "huge")
    bytes = grain * s.random.of({std::size_t{1} << 21, std::size_t{1} << 30, std::size_t{1} << 42});
  if(variant == "bad-device")
    prop.location.id = s.random.of({-1, 64});
  if(variant == "bad-type")
    prop.type =
        s.random.of({static_cast<api::AllocationType>(0), static_cast<api::AllocationType>(0x7FFFFFFF)});
  if(variant == "bad-location")
    prop.location.type =
        s.random.of({static_cast<api::LocationType>(0), static_cast<api::LocationType>(999)});
  if(variant == "bad-handle-type")
    prop.requestedHandleTypes = s.random.of(
        {static_cast<api::HandleType>(2), static_cast<api::HandleType>(4), static_cast<api::HandleType>(64)});
  if(variant == "bad-compression")
    prop.allocFlags.compressionType = 77;
  if(variant == "bad-usage")
    prop.allocFlags.usage = 0x8000;
  if(variant == "bad-flags")
    flags = s.random.of({1ULL, 8ULL});
  vmm::create(s, variant, prop, bytes, flags);
}

void releaseMemory(Session& s) {
  const PickedHandle handle = pickHandle(s);
  const bool released = s.succeeds({.function = "cuMemRelease",
                                    .variant = handle.variant,
                                    .arguments = Arguments{}("handle", handle.name),
                                    .effect = Effect::ChangesState},
                                   [&](std::string&) { return s.cuda.memRelease(handle.value); });
  if(!released)
    return;
  auto& all = s.model.handles;
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const Handle& known) { return known.value == handle.value; });
  if(it == all.end()) {
    s.end();
    return;
  }
  all.erase(it);
}

void getProperties(Session& s) {
  const PickedHandle handle = pickHandle(s);
  s.call({.function = "cuMemGetAllocationPropertiesFromHandle",
          .variant = handle.variant,
          .arguments = Arguments{}("handle", handle.name)},
         [&](std::string& value) {
           api::AllocationProp prop;
           const api::Status status = s.cuda.memGetAllocationPropertiesFromHandle(&prop, handle.value);
           if(status == api::Status::Success)
             value = vmm::describe(prop).text();
           return status;
         });
}

} // namespace rdmagpu::testkit::operations
