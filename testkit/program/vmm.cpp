#include <program/operations.hpp>
#include <program/vmm.hpp>

#include <algorithm>

namespace rdmagpu::testkit {
namespace vmm {

Arguments describe(const api::AllocationProp& prop) {
  return Arguments{}("type", static_cast<unsigned>(prop.type))(
      "handles", static_cast<unsigned>(prop.requestedHandleTypes))(
      "location", std::to_string(static_cast<unsigned>(prop.location.type)) + ":" +
                      std::to_string(prop.location.id))("compression", prop.allocFlags.compressionType)(
      "rdma", prop.allocFlags.gpuDirectRdmaCapable)("usage", prop.allocFlags.usage);
}

PickedHandle pickHandle(Session& s) {
  if(s.model.handles.empty() || s.random.chance(5))
    return {"zero-handle", api::MemHandle{}, "0", 0};
  const Handle& handle = s.model.handles[s.random.below(s.model.handles.size())];
  return {"good", handle.value, handle.name(), handle.bytes};
}

Reservation* pickReservation(Session& s) {
  auto& all = s.model.reservations;
  return all.empty() ? nullptr : &all[s.random.below(all.size())];
}

std::string at(const Reservation& reservation, std::size_t offset) {
  return reservation.name() + "+" + std::to_string(offset);
}

std::optional<std::size_t> firstHole(const Reservation& reservation, std::size_t granularity) {
  for(std::size_t offset = 0; offset < reservation.bytes; offset += granularity) {
    if(!reservation.overlapping(offset, granularity))
      return offset;
  }
  return {};
}

std::size_t mappedBytes(const Reservation& reservation) {
  std::size_t bytes = 0;
  for(const Mapped& mapped : reservation.mappings)
    bytes += mapped.bytes;
  return bytes;
}

bool create(Session& s, const std::string& variant, const api::AllocationProp& prop, std::size_t bytes,
            unsigned long long flags) {
  api::MemHandle handle{};
  const Asked asked{.function = "cuMemCreate",
                    .variant = variant,
                    .arguments = describe(prop)("bytes", bytes)("flags", flags),
                    .effect = Effect::ChangesState};
  const bool created = s.succeeds(asked, [&](std::string&) {
    return s.cuda.memCreate(variant == "no-output" ? nullptr : &handle, bytes, &prop, flags);
  });
  if(created && variant == "no-output")
    s.end();
  else if(created)
    s.model.handles.push_back({handle, bytes, s.newId()});
  return created;
}

bool reserve(Session& s, const std::string& variant, std::size_t bytes, std::size_t alignment,
             unsigned long long flags) {
  api::DevicePtr start{};
  const Asked asked{.function = "cuMemAddressReserve",
                    .variant = variant,
                    .arguments = Arguments{}("bytes", bytes)("alignment", alignment)("flags", flags),
                    .effect = Effect::ChangesState};
  const bool reserved = s.succeeds(asked, [&](std::string& value) {
    const api::Status status = s.cuda.memAddressReserve(variant == "no-output" ? nullptr : &start, bytes,
                                                        alignment, api::DevicePtr{}, flags);
    if(status == api::Status::Success && variant != "no-output")
      value = start % std::max(alignment, s.model.granularity) == 0 ? "aligned" : "unaligned";
    return status;
  });
  if(reserved && variant == "no-output")
    s.end();
  else if(reserved)
    s.model.reservations.push_back({start, bytes, s.newId(), {}});
  return reserved;
}

bool map(Session& s, const std::string& variant, Reservation& reservation, const MapCall& call,
         const PickedHandle& handle) {
  const auto& [offset, bytes, memoryOffset, flags] = call;
  const Asked asked{.function = "cuMemMap",
                    .variant = variant,
                    .arguments = Arguments{}("address", at(reservation, offset))("bytes", bytes)(
                        "offset", memoryOffset)("handle", handle.name)("flags", flags),
                    .effect = Effect::ChangesState};
  const bool mapped = s.succeeds(asked, [&](std::string&) {
    return s.cuda.memMap(reservation.start + call.offset, call.bytes, call.memoryOffset, handle.value,
                         call.flags);
  });
  if(!mapped)
    return false;
  if(offset + bytes > reservation.bytes || reservation.overlapping(offset, bytes))
    s.end(); // the driver let it through: what is there now is not known
  reservation.mappings.push_back({offset, bytes, noAccess});
  return true;
}

} // namespace vmm

void operations::makeUsable(Session& s) {
  if(s.model.handles.size() >= vmm::most || s.model.reservations.size() >= vmm::most)
    return;
  api::AllocationProp prop{.allocFlags = {.gpuDirectRdmaCapable = s.random.chance(80)}};
  prop.requestedHandleTypes = s.random.of({api::HandleType::None, api::HandleType::PosixFileDescriptor});
  const std::size_t bytes = s.model.granularity * (1 + s.random.below(3));
  const std::size_t spare = s.model.granularity * s.random.below(3);
  if(!vmm::create(s, "good", prop, bytes, 0) || !vmm::reserve(s, "good", bytes + spare, 0, 0))
    return;
  const Handle& handle = s.model.handles.back();
  Reservation& reservation = s.model.reservations.back();
  if(!vmm::map(s, "good", reservation, {.bytes = bytes}, {"good", handle.value, handle.name(), bytes}))
    return;
  const api::AccessDesc access{};
  const Asked asked{.function = "cuMemSetAccess",
                    .variant = "good",
                    .arguments = Arguments{}("address", vmm::at(reservation, 0))("bytes", bytes),
                    .effect = Effect::ChangesState};
  if(s.succeeds(asked,
                [&](std::string&) { return s.cuda.memSetAccess(reservation.start, bytes, &access, 1); }))
    reservation.mappings.back().access = api::AccessFlags::ReadWrite;
}

} // namespace rdmagpu::testkit
