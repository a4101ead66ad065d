#include <program/operations.hpp>

#include <algorithm>
#include <array>

namespace rdmagpu::testkit::operations {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most = 12; ///< Handles and reservations at a time: some 100 MiB at most.

Arguments describe(const api::AllocationProp& prop) {
  return Arguments{}("type", static_cast<unsigned>(prop.type))(
      "handles", static_cast<unsigned>(prop.requestedHandleTypes))(
      "location", std::to_string(static_cast<unsigned>(prop.location.type)) + ":" +
                      std::to_string(prop.location.id))("compression", prop.allocFlags.compressionType)(
      "rdma", prop.allocFlags.gpuDirectRdmaCapable)("usage", prop.allocFlags.usage);
}

struct PickedHandle {
  std::string variant;
  api::MemHandle value;
  std::string name;
  std::size_t bytes; ///< 0: not known.
};

/// Most often one that exists. One that does not, other than 0, may be anything to a driver: measured, it
/// reads memory that it has freed.
PickedHandle pickHandle(Session& s) {
  if(s.model.handles.empty() || s.random.chance(5))
    return {"zero-handle", api::MemHandle{}, "0", 0};
  const Handle& handle = s.model.handles[s.random.below(s.model.handles.size())];
  return {"good", handle.value, handle.name(), handle.bytes};
}

std::string at(const Reservation& reservation, std::size_t offset) {
  return reservation.name() + "+" + std::to_string(offset);
}

Reservation* pickReservation(Session& s) {
  auto& all = s.model.reservations;
  return all.empty() ? nullptr : &all[s.random.below(all.size())];
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

bool reserveRange(Session& s, const std::string& variant, std::size_t bytes, std::size_t alignment,
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

bool mapAt(Session& s, const std::string& variant, Reservation& reservation, std::size_t offset,
           std::size_t bytes, std::size_t memoryOffset, const PickedHandle& handle,
           unsigned long long flags) {
  const Asked asked{.function = "cuMemMap",
                    .variant = variant,
                    .arguments = Arguments{}("address", at(reservation, offset))("bytes", bytes)(
                        "offset", memoryOffset)("handle", handle.name)("flags", flags),
                    .effect = Effect::ChangesState};
  const bool mapped = s.succeeds(asked, [&](std::string&) {
    return s.cuda.memMap(reservation.start + offset, bytes, memoryOffset, handle.value, flags);
  });
  if(!mapped)
    return false;
  if(offset + bytes > reservation.bytes || reservation.overlapping(offset, bytes))
    s.end(); // the driver let it through: what is there now is not known
  reservation.mappings.push_back({offset, bytes, noAccess});
  return true;
}

} // namespace

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
  create(s, variant, prop, bytes, flags);
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

void reserve(Session& s) {
  if(s.model.reservations.size() >= most)
    return;
  const std::size_t grain = s.model.granularity;
  const std::string variant =
      s.random.of({"good", "good", "good", "good", "page-multiple", "odd-size", "zero-size", "huge",
                   "bad-alignment", "large-alignment", "small-alignment", "bad-flags", "no-output"});
  std::size_t bytes = grain * (1 + s.random.below(6));
  std::size_t alignment = s.random.of({std::size_t{0}, grain});
  unsigned long long flags = 0;
  if(variant == "page-multiple")
    bytes = s.random.of({page, bytes + page, grain / 2});
  if(variant == "odd-size")
    bytes = s.random.of({bytes + 1, std::size_t{100}});
  if(variant == "zero-size")
    bytes = 0;
  if(variant == "huge")
    bytes = std::size_t{1} << s.random.of({60, 63});
  if(variant == "bad-alignment")
    alignment = s.random.of({std::size_t{3}, grain + 1, grain * 3});
  if(variant == "large-alignment")
    alignment = grain * s.random.of({std::size_t{2}, std::size_t{16}, std::size_t{512}});
  if(variant == "small-alignment")
    alignment = s.random.of({std::size_t{1}, page, std::size_t{65536}});
  if(variant == "bad-flags")
    flags = s.random.of({4ULL, 1ULL << 40U});
  reserveRange(s, variant, bytes, alignment, flags);
}

void freeReservation(Session& s) {
  Reservation* reservation = pickReservation(s);
  std::string variant =
      s.random.of({"good", "good", "good", "good", "wrong-size", "interior", "stale", "null", "bogus"});
  if(variant == "stale" && s.model.staleRanges.empty())
    variant = "null";
  api::DevicePtr address{};
  std::size_t bytes = s.model.granularity;
  std::string name = variant;
  bool reused = false;
  if(variant == "bogus")
    address = 0x1000;
  if(variant == "stale") {
    const Plain& stale = s.model.staleRanges.back();
    address = stale.start;
    bytes = stale.bytes;
    name = stale.name();
    reused = s.model.isTaken(address, bytes);
  } else if(variant != "null" && variant != "bogus") {
    if(!reservation)
      return;
    const std::size_t skip = variant == "interior" ? s.model.granularity : 0;
    address = reservation->start + skip;
    bytes = reservation->bytes - skip;
    if(variant == "wrong-size")
      bytes = s.random.of({bytes + s.model.granularity, bytes / 2, std::size_t{0}});
    name = at(*reservation, skip);
    if(variant == "interior" && bytes == 0)
      return;
    if(!reservation->mappings.empty())
      variant += "-mapped";
  }
  const bool freed = s.succeeds({.function = "cuMemAddressFree",
                                 .variant = variant,
                                 .arguments = Arguments{}("address", name)("bytes", bytes),
                                 .effect = Effect::ChangesState,
                                 .reused = reused},
                                [&](std::string&) { return s.cuda.memAddressFree(address, bytes); });
  if(!freed)
    return;
  if(variant != "good") {
    s.end();
    return;
  }
  s.model.staleRanges.push_back({reservation->start, reservation->bytes, reservation->id});
  s.model.reservations.erase(s.model.reservations.begin() + (reservation - s.model.reservations.data()));
}

void map(Session& s) {
  Reservation* reservation = pickReservation(s);
  const PickedHandle handle = pickHandle(s);
  std::string variant =
      s.random.of({"good", "good", "good", "good", "anywhere", "anywhere", "offset", "partial", "too-large",
                   "unaligned", "odd-bytes", "zero-bytes", "bad-flags"});
  if(!reservation)
    return;
  const std::size_t grain = s.model.granularity;
  std::size_t bytes = handle.bytes ? handle.bytes : grain;
  std::size_t offset = 0;
  while(variant != "anywhere" && offset + bytes < reservation->bytes &&
        reservation->overlapping(offset, bytes))
    offset += grain;
  if(variant == "anywhere")
    offset = grain * s.random.below(reservation->bytes / grain + 1);
  std::size_t memoryOffset = 0;
  unsigned long long flags = 0;
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
  if(variant == "anywhere" || variant == "good")
    variant = "good";
  if(variant == "good" && reservation->overlapping(offset, bytes))
    variant = "overlapping";
  if(variant == "partial" && bytes == handle.bytes)
    variant = "good";
  if(handle.variant != "good")
    variant = handle.variant;
  if(offset + bytes > reservation->bytes) // what lies there is the driver's to choose
    return;
  mapAt(s, variant, *reservation, offset, bytes, memoryOffset, handle, flags);
}

void setAccess(Session& s) {
  Reservation* reservation = pickReservation(s);
  std::string variant = s.random.of({"good", "good", "good", "good", "read-only", "none", "bad-access",
                                     "partial", "whole-reservation", "count-0", "twice", "bad-device",
                                     "bad-location", "zero-bytes", "odd-bytes", "hole"});
  if(!reservation)
    return;
  const std::size_t grain = s.model.granularity;
  std::size_t offset = 0;
  std::size_t bytes = reservation->bytes;
  if(!reservation->mappings.empty()) {
    const Mapped& mapped = reservation->mappings[s.random.below(reservation->mappings.size())];
    if(variant != "whole-reservation") {
      offset = mapped.offset;
      bytes = mapped.bytes;
    }
  } else {
    variant = "hole";
  }
  std::array<api::AccessDesc, 2> access{};
  std::size_t count = 1;
  if(variant == "read-only")
    access[0].flags = readOnly;
  if(variant == "none")
    access[0].flags = noAccess;
  if(variant == "bad-access")
    access[0].flags = s.random.of({static_cast<api::AccessFlags>(2), static_cast<api::AccessFlags>(7)});
  if(variant == "partial" && bytes > grain)
    bytes = grain;
  else if(variant == "partial")
    variant = "good";
  if(variant == "count-0")
    count = 0;
  if(variant == "twice")
    count = 2;
  if(variant == "bad-device")
    access[0].location.id = s.random.of({-1, 64});
  if(variant == "bad-location")
    access[0].location.type = static_cast<api::LocationType>(999);
  if(variant == "zero-bytes")
    bytes = 0;
  if(variant == "odd-bytes")
    bytes = s.random.of({bytes - 1, bytes - page});
  if(variant == "hole") {
    offset = 0;
    while(offset < reservation->bytes && reservation->overlapping(offset, grain))
      offset += grain;
    bytes = grain;
    if(offset >= reservation->bytes)
      return;
  }
  if(variant == "whole-reservation") {
    std::size_t covered = 0;
    for(const Mapped& mapped : reservation->mappings)
      covered += mapped.bytes;
    variant = covered == reservation->bytes ? "several" : "with-holes";
  }
  const Asked asked{
      .function = "cuMemSetAccess",
      .variant = variant,
      .arguments = Arguments{}("address", at(*reservation, offset))("bytes", bytes)("count", count)(
          "location", std::to_string(static_cast<unsigned>(access[0].location.type)) + ":" +
                          std::to_string(access[0].location.id))("access",
                                                                 static_cast<unsigned>(access[0].flags)),
      .effect = Effect::ChangesState};
  const bool set = s.succeeds(asked, [&](std::string&) {
    return s.cuda.memSetAccess(reservation->start + offset, bytes, access.data(), count);
  });
  if(!set || count == 0 || bytes == 0)
    return;
  for(Mapped& mapped : reservation->mappings) {
    const bool touched = mapped.offset < offset + bytes && offset < mapped.offset + mapped.bytes;
    if(!touched)
      continue;
    if(mapped.offset < offset || offset + bytes < mapped.offset + mapped.bytes)
      s.end(); // a mapping of two halves
    mapped.access = access[0].flags;
  }
}

void unmap(Session& s) {
  Reservation* reservation = pickReservation(s);
  std::string variant = s.random.of({"good", "good", "good", "good", "good", "partial", "whole-reservation",
                                     "zero-bytes", "odd-bytes", "interior", "hole", "stale", "bogus"});
  if(!reservation)
    return;
  const std::size_t grain = s.model.granularity;
  if(variant == "stale" && s.model.staleRanges.empty())
    variant = "bogus";
  std::size_t offset = 0;
  std::size_t bytes = grain;
  if(variant != "hole" && variant != "stale" && variant != "bogus" && !reservation->mappings.empty()) {
    const Mapped& mapped = reservation->mappings[s.random.below(reservation->mappings.size())];
    offset = mapped.offset;
    bytes = mapped.bytes;
    if((variant == "partial" || variant == "interior") && bytes == grain)
      variant = "good";
  } else if(variant != "stale" && variant != "bogus") {
    variant = "hole";
    while(offset < reservation->bytes && reservation->overlapping(offset, grain))
      offset += grain;
    if(offset >= reservation->bytes)
      return;
  }
  if(variant == "partial")
    bytes = grain;
  if(variant == "interior") {
    offset += grain;
    bytes -= grain;
  }
  if(variant == "whole-reservation") {
    std::size_t covered = 0;
    for(const Mapped& mapped : reservation->mappings)
      covered += mapped.bytes;
    offset = 0;
    bytes = reservation->bytes;
    variant = covered == bytes ? "several" : "with-holes";
    if(reservation->mappings.size() == 1 && covered == bytes)
      variant = "good";
  }
  if(variant == "zero-bytes")
    bytes = 0;
  if(variant == "odd-bytes")
    bytes = s.random.of({bytes - 1, bytes - page});
  api::DevicePtr address = reservation->start + offset;
  std::string name = at(*reservation, offset);
  bool reused = false;
  if(variant == "stale") {
    address = s.model.staleRanges.back().start;
    name = s.model.staleRanges.back().name();
    reused = s.model.isTaken(address, bytes);
  }
  if(variant == "bogus") {
    address = 0x1000;
    name = "bogus";
  }
  const bool unmapped = s.succeeds({.function = "cuMemUnmap",
                                    .variant = variant,
                                    .arguments = Arguments{}("address", name)("bytes", bytes),
                                    .effect = Effect::ChangesState,
                                    .reused = reused},
                                   [&](std::string&) { return s.cuda.memUnmap(address, bytes); });
  if(!unmapped)
    return;
  if(variant != "good" && variant != "several" && variant != "with-holes" && variant != "hole") {
    s.end();
    return;
  }
  auto& mappings = reservation->mappings;
  mappings.erase(std::remove_if(mappings.begin(), mappings.end(),
                                [&](const Mapped& mapped) {
                                  return offset <= mapped.offset && mapped.offset < offset + bytes;
                                }),
                 mappings.end());
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
             value = describe(prop).text();
           return status;
         });
}

void makeUsable(Session& s) {
  if(s.model.handles.size() >= most || s.model.reservations.size() >= most)
    return;
  api::AllocationProp prop{.allocFlags = {.gpuDirectRdmaCapable = s.random.chance(80)}};
  prop.requestedHandleTypes = s.random.of({api::HandleType::None, api::HandleType::PosixFileDescriptor});
  const std::size_t bytes = s.model.granularity * (1 + s.random.below(3));
  const std::size_t spare = s.model.granularity * s.random.below(3);
  if(!create(s, "good", prop, bytes, 0) || !reserveRange(s, "good", bytes + spare, 0, 0))
    return;
  const Handle& handle = s.model.handles.back();
  Reservation& reservation = s.model.reservations.back();
  if(!mapAt(s, "good", reservation, 0, bytes, 0, {"good", handle.value, handle.name(), bytes}, 0))
    return;
  const api::AccessDesc access{};
  const Asked asked{.function = "cuMemSetAccess",
                    .variant = "good",
                    .arguments = Arguments{}("address", at(reservation, 0))("bytes", bytes),
                    .effect = Effect::ChangesState};
  if(s.succeeds(asked,
                [&](std::string&) { return s.cuda.memSetAccess(reservation.start, bytes, &access, 1); }))
    reservation.mappings.back().access = api::AccessFlags::ReadWrite;
}

} // namespace rdmagpu::testkit::operations
