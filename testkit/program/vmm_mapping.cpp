#include <program/operations.hpp>
#include <program/vmm.hpp>

#include <algorithm>
#include <array>

namespace rdmagpu::testkit::operations {

using vmm::page;
using vmm::PickedHandle;
using vmm::pickHandle;

namespace {

vmm::MapCall chooseMapping(Session& s, const Reservation& reservation, const PickedHandle& handle,
                           const std::string& variant) {
  const std::size_t grain = s.model.granularity;
  vmm::MapCall call{.bytes = handle.bytes ? handle.bytes : grain};
  auto& [offset, bytes, memoryOffset, flags] = call;
  while(variant != "anywhere" && offset + bytes < reservation.bytes && reservation.overlapping(offset, bytes))
    offset += grain;
  if(variant == "anywhere")
    offset = grain * s.random.below(reservation.bytes / grain + 1);
  if(variant == "offset")
    memoryOffset = s.random.of({grain, page, bytes});
  if(variant == "partial" && bytes > grain)
    bytes -= grain;
  if(variant == "too-large")
    bytes += grain;
  if(variant == "unaligned")
    offset += s.random.of({page, std::size_t{65536}, std::size_t{1}});
  if(variant == "odd-bytes")
    bytes = s.random.of({bytes - 1, bytes - page, page});
  if(variant == "zero-bytes")
    bytes = 0;
  if(variant == "bad-flags")
    flags = s.random.of({1ULL, 1ULL << 40U});
  return call;
}

struct AccessCall {
  std::string variant{};
  std::size_t offset{};
  std::size_t bytes{};
  std::array<api::AccessDesc, 2> access{};
  std::size_t count = 1;

  Arguments arguments(const Reservation& reservation) const {
    const api::Location& location = access[0].location;
    return Arguments{}("address", vmm::at(reservation, offset))("bytes", bytes)("count", count)(
        "location", std::to_string(static_cast<unsigned>(location.type)) + ":" +
                        std::to_string(location.id))("access", static_cast<unsigned>(access[0].flags));
  }
};

/// What is wrong with the description of the access, or with how much of the mapping it is for.
void spoil(Session& s, AccessCall& call) {
  std::string& variant = call.variant;
  api::AccessDesc& access = call.access[0];
  if(variant == "read-only")
    access.flags = readOnly;
  if(variant == "none")
    access.flags = noAccess;
  if(variant == "bad-access")
    access.flags = s.random.of({static_cast<api::AccessFlags>(2), static_cast<api::AccessFlags>(7)});
  if(variant == "partial" && call.bytes > s.model.granularity)
    call.bytes = s.model.granularity;
  else if(variant == "partial")
    variant = "good";
  if(variant == "count-0")
    call.count = 0;
  if(variant == "twice")
    call.count = 2;
  if(variant == "bad-device")
    access.location.id = s.random.of({-1, 64});
  if(variant == "bad-location")
    access.location.type = static_cast<api::LocationType>(999);
  if(variant == "zero-bytes")
    call.bytes = 0;
  if(variant == "odd-bytes")
    call.bytes = s.random.of({call.bytes - 1, call.bytes - page});
}

std::optional<AccessCall> chooseAccess(Session& s, const Reservation& reservation,
                                       const std::string& variant) {
  AccessCall call{.variant = variant, .bytes = reservation.bytes};
  if(reservation.mappings.empty())
    call.variant = "hole";
  if(!reservation.mappings.empty()) {
    const Mapped& mapped = reservation.mappings[s.random.below(reservation.mappings.size())];
    if(variant != "whole-reservation") {
      call.offset = mapped.offset;
      call.bytes = mapped.bytes;
    }
  }
  spoil(s, call);
  if(call.variant == "hole") {
    const auto hole = vmm::firstHole(reservation, s.model.granularity);
    if(!hole)
      return {};
    call.offset = *hole;
    call.bytes = s.model.granularity;
  }
  if(call.variant == "whole-reservation")
    call.variant = vmm::mappedBytes(reservation) == reservation.bytes ? "several" : "with-holes";
  return call;
}

void noteAccess(Session& s, Reservation& reservation, const AccessCall& call) {
  const std::size_t end = call.offset + call.bytes;
  for(Mapped& mapped : reservation.mappings) {
    const std::size_t mappedEnd = mapped.offset + mapped.bytes;
    if(mapped.offset >= end || call.offset >= mappedEnd)
      continue;
    if(mapped.offset < call.offset || end < mappedEnd)
      s.end(); // a mapping of two halves
    mapped.access = call.access[0].flags;
  }
}

struct UnmapCall {
  std::string variant{};
  std::string name{};
  api::DevicePtr address{};
  std::size_t offset{};
  std::size_t bytes{};
  bool reused{};
};

UnmapCall chooseOutside(const Session& s, const std::string& variant) {
  UnmapCall call{
      .variant = variant, .name = variant, .address = vmm::bogusAddress, .bytes = s.model.granularity};
  if(variant != "stale")
    return call;
  const Plain& stale = s.model.staleRanges.back();
  call.address = stale.start;
  call.name = stale.name();
  call.reused = s.model.isTaken(call.address, call.bytes);
  return call;
}

/// A mapping, a part of one, or all of the reservation.
UnmapCall chooseMapped(Session& s, const Reservation& reservation, const std::string& variant) {
  const std::size_t grain = s.model.granularity;
  const Mapped& mapped = reservation.mappings[s.random.below(reservation.mappings.size())];
  UnmapCall call{.variant = variant, .offset = mapped.offset, .bytes = mapped.bytes};
  if((variant == "partial" || variant == "interior") && call.bytes == grain)
    call.variant = "good";
  if(call.variant == "partial")
    call.bytes = grain;
  if(call.variant == "interior") {
    call.offset += grain;
    call.bytes -= grain;
  }
  if(variant == "whole-reservation") {
    const bool full = vmm::mappedBytes(reservation) == reservation.bytes;
    call.offset = 0;
    call.bytes = reservation.bytes;
    call.variant = full ? "several" : "with-holes";
    if(full && reservation.mappings.size() == 1)
      call.variant = "good";
  }
  if(variant == "zero-bytes")
    call.bytes = 0;
  if(variant == "odd-bytes")
    call.bytes = s.random.of({call.bytes - 1, call.bytes - page});
  return call;
}

std::optional<UnmapCall> chooseUnmapping(Session& s, const Reservation& reservation,
                                         const std::string& variant) {
  if(variant == "stale" || variant == "bogus")
    return chooseOutside(s, variant == "stale" && s.model.staleRanges.empty() ? "bogus" : variant);
  UnmapCall call;
  if(variant == "hole" || reservation.mappings.empty()) {
    const auto hole = vmm::firstHole(reservation, s.model.granularity);
    if(!hole)
      return {};
    call = {.variant = "hole", .offset = *hole, .bytes = s.model.granularity};
  } else {
    call = chooseMapped(s, reservation, variant);
  }
  call.address = reservation.start + call.offset;
  call.name = vmm::at(reservation, call.offset);
  return call;
}

} // namespace

void map(Session& s) {
  Reservation* const reservation = vmm::pickReservation(s);
  const PickedHandle handle = pickHandle(s);
  std::string variant =
      s.random.of({"good", "good", "good", "good", "anywhere", "anywhere", "offset", "partial", "too-large",
                   "unaligned", "odd-bytes", "zero-bytes", "bad-flags"});
  if(!reservation)
    return;
  const vmm::MapCall call = chooseMapping(s, *reservation, handle, variant);
  if(variant == "anywhere")
    variant = "good";
  if(variant == "good" && reservation->overlapping(call.offset, call.bytes))
    variant = "overlapping";
  if(variant == "partial" && call.bytes == handle.bytes) // there is no smaller part
    variant = "good";
  if(handle.variant != "good")
    variant = handle.variant;
  if(call.offset + call.bytes > reservation->bytes) // what lies there is the driver's to choose
    return;
  vmm::map(s, variant, *reservation, call, handle);
}

void setAccess(Session& s) {
  Reservation* const reservation = vmm::pickReservation(s);
  const std::string variant = s.random.of({"good", "good", "good", "good", "read-only", "none", "bad-access",
                                           "partial", "whole-reservation", "count-0", "twice", "bad-device",
                                           "bad-location", "zero-bytes", "odd-bytes", "hole"});
  if(!reservation)
    return;
  const auto call = chooseAccess(s, *reservation, variant);
  if(!call)
    return;
  const bool set = s.succeeds({.function = "cuMemSetAccess",
                               .variant = call->variant,
                               .arguments = call->arguments(*reservation),
                               .effect = Effect::ChangesState},
                              [&](std::string&) {
                                return s.cuda.memSetAccess(reservation->start + call->offset, call->bytes,
                                                           call->access.data(), call->count);
                              });
  if(set && call->count != 0)
    noteAccess(s, *reservation, *call);
}

void unmap(Session& s) {
  Reservation* const reservation = vmm::pickReservation(s);
  const std::string variant =
      s.random.of({"good", "good", "good", "good", "good", "partial", "whole-reservation", "zero-bytes",
                   "odd-bytes", "interior", "hole", "stale", "bogus"});
  if(!reservation)
    return;
  const auto call = chooseUnmapping(s, *reservation, variant);
  if(!call)
    return;
  const bool unmapped = s.succeeds({.function = "cuMemUnmap",
                                    .variant = call->variant,
                                    .arguments = Arguments{}("address", call->name)("bytes", call->bytes),
                                    .effect = Effect::ChangesState,
                                    .reused = call->reused},
                                   [&](std::string&) { return s.cuda.memUnmap(call->address, call->bytes); });
  if(!unmapped)
    return;
  const std::string& made = call->variant;
  if(made != "good" && made != "several" && made != "with-holes" && made != "hole") {
    s.end();
    return;
  }
  auto& mappings = reservation->mappings;
  const auto isGone = [&](const Mapped& mapped) {
    return call->offset <= mapped.offset && mapped.offset < call->offset + call->bytes;
  };
  mappings.erase(std::remove_if(mappings.begin(), mappings.end(), isGone), mappings.end());
}

} // namespace rdmagpu::testkit::operations
