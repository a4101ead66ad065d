#include <program/operations.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu::testkit::operations {
namespace {

constexpr std::size_t most = 12;
constexpr std::size_t page = 4096;
constexpr std::size_t beyond = std::size_t{64} << 20;
constexpr std::size_t largeBytes = beyond + (std::size_t{32} << 20);

struct Range {
  Place place;
  std::string variant{};
  std::size_t bytes{};
  bool reused{};
};

/// For a copy or a fill.
Range pickRange(Session& s) {
  Range range{.place = s.pickPlace()};
  const Place& place = range.place;
  const std::string how = s.random.of({"within", "within", "within", "whole", "zero", "past", "spanning"});
  range.bytes = std::min<std::size_t>(place.room, s.random.of<std::size_t>({1, 100, 4096, 65536}));
  std::string variant = "within";
  if(how == "whole")
    range.bytes = std::min(place.room, hostBytes);
  if(how == "zero") {
    range.bytes = 0;
    variant = how;
  }
  if(how == "past") {
    range.bytes = place.room + (place.hole ? place.hole : beyond);
    variant = how;
  }
  if(how == "spanning" && place.alike) {
    range.bytes = place.room + page;
    variant = how;
  }
  range.variant = std::string{place.kind} + "-" + variant;
  range.reused =
      std::string_view{place.kind}.starts_with("stale") && s.model.isTaken(place.address, place.room);
  if(how == "past" && !place.hole)
    range.reused |= s.model.isTaken(place.address + place.room, beyond);
  return range;
}

Asked onRange(Session& s, const char* function, const Range& range) {
  return {.function = function,
          .variant = range.variant,
          .arguments = Arguments{}("address", range.place.name)("bytes", range.bytes),
          .reused = range.reused,
          .context = s.model.contextSuffix()};
}

} // namespace

void allocate(Session& s) {
  if(s.model.plain.size() >= most)
    return;
  const std::string variant =
      s.random.of({"good", "good", "good", "good", "good", "zero", "huge", "no-output"});
  std::size_t bytes =
      s.random.of({std::size_t{1}, std::size_t{512}, std::size_t{4096}, std::size_t{65537},
                   std::size_t{1} << 20, std::size_t{2} << 20, (std::size_t{4} << 20) + 4096});
  if(variant == "zero")
    bytes = 0;
  if(variant == "huge")
    bytes = std::size_t{1} << s.random.of({44, 50, 62});
  constexpr std::size_t promised = 256;
  const std::size_t alignment =
      bytes < s.model.granularity ? promised : std::max(s.model.granularity, promised);
  api::DevicePtr address{};
  const Asked asked{.function = "cuMemAlloc_v2",
                    .variant = variant,
                    .arguments = Arguments{}("bytes", bytes),
                    .effect = Effect::ChangesState,
                    .context = s.model.contextSuffix()};
  const bool allocated = s.succeeds(asked, [&](std::string& value) {
    const api::Status status = s.cuda.memAlloc(variant == "no-output" ? nullptr : &address, bytes);
    if(status == api::Status::Success)
      value = address % alignment == 0 ? "aligned" : "unaligned";
    return status;
  });
  if(allocated && variant == "no-output")
    s.end();
  else if(allocated)
    s.model.plain.push_back({address, bytes, s.newId()});
}

void freePlain(Session& s) {
  Model& model = s.model;
  std::string variant =
      s.random.of({"good", "good", "good", "good", "interior", "stale", "null", "bogus", "vmm"});
  api::DevicePtr address{};
  std::string name = variant;
  bool reused = false;
  std::size_t index = 0;
  if(variant == "good" || variant == "interior") {
    if(model.plain.empty())
      return;
    index = s.random.below(model.plain.size());
    const std::size_t skip = variant == "good" ? 0 : model.plain[index].bytes / 2;
    if(variant == "interior" && skip == 0)
      return;
    address = model.plain[index].start + skip;
    name = model.plain[index].name() + (skip ? "+" + std::to_string(skip) : "");
  }
  if(variant == "stale") {
    if(model.stalePlain.empty())
      return;
    address = model.stalePlain.back().start;
    name = model.stalePlain.back().name();
    reused = model.isTaken(address, 1);
  }
  if(variant == "bogus")
    address = 0x1000;
  if(variant == "vmm") {
    if(model.reservations.empty())
      return;
    address = model.reservations.front().start;
    name = model.reservations.front().name();
  }
  const bool freed = s.succeeds({.function = "cuMemFree_v2",
                                 .variant = variant,
                                 .arguments = Arguments{}("address", name),
                                 .effect = Effect::ChangesState,
                                 .reused = reused,
                                 .context = model.contextSuffix()},
                                [&](std::string&) { return s.cuda.memFree(address); });
  if(!freed || variant == "null")
    return;
  if(variant != "good") {
    s.end();
    return;
  }
  model.stalePlain.push_back(model.plain[index]);
  model.plain.erase(model.plain.begin() + static_cast<std::ptrdiff_t>(index));
}

void fill(Session& s) {
  const Range range = pickRange(s);
  const auto byte = static_cast<unsigned char>(s.random.below(256));
  s.call(onRange(s, "cuMemsetD8_v2", range),
         [&](std::string&) { return s.cuda.memsetD8(range.place.address, byte, range.bytes); });
  synchronize(s);
}

void upload(Session& s) {
  const Range range = pickRange(s);
  if(range.bytes > hostBytes && (std::string_view{range.place.kind} == "host" || range.bytes > largeBytes))
    return;
  const auto byte = static_cast<int>(s.random.below(256));
  if(range.bytes > hostBytes) { // past the end: both sides are to be too short
    s.call(onRange(s, "cuMemcpyHtoD_v2", range), [&](std::string&) {
      static std::byte* const large = new std::byte[largeBytes]{};
      return s.cuda.memcpyHtoD(range.place.address, large, range.bytes);
    });
    synchronize(s);
    return;
  }
  std::memset(hostBuffer(), byte, range.bytes);
  const bool copied = s.succeeds(onRange(s, "cuMemcpyHtoD_v2", range), [&](std::string&) {
    return s.cuda.memcpyHtoD(range.place.address, hostBuffer(), range.bytes);
  });
  synchronize(s);
  if(!copied || range.bytes == 0)
    return;
  // What arrived is read back.
  s.call(onRange(s, "cuMemcpyDtoH_v2", range), [&](std::string& value) {
    std::memset(hostBuffer(), byte ^ 0xFF, range.bytes);
    const api::Status status = s.cuda.memcpyDtoH(hostBuffer(), range.place.address, range.bytes);
    std::byte* const end = hostBuffer() + range.bytes;
    if(status == api::Status::Success)
      value = std::all_of(hostBuffer(), end, [&](std::byte b) { return b == static_cast<std::byte>(byte); })
                  ? "same"
                  : "different";
    return status;
  });
}

void download(Session& s) {
  const Range range = pickRange(s);
  if(range.bytes > hostBytes) // the host's side would be too short
    return;
  s.call(onRange(s, "cuMemcpyDtoH_v2", range),
         [&](std::string&) { return s.cuda.memcpyDtoH(hostBuffer(), range.place.address, range.bytes); });
}

void synchronize(Session& s) {
  s.call({.function = "cuStreamSynchronize", .variant = "default", .context = s.model.contextSuffix()},
         [&](std::string&) { return s.cuda.streamSynchronize(api::Stream{}); });
}

void flush(Session& s) {
  const std::string variant = s.random.of({"good", "good", "all-devices", "bad-scope", "bad-target"});
  const auto target = static_cast<api::FlushTarget>(variant == "bad-target" ? 1 : 0);
  auto scope = api::FlushScope::ToOwner;
  if(variant == "all-devices")
    scope = api::FlushScope::ToAllDevices;
  if(variant == "bad-scope")
    scope = s.random.of({static_cast<api::FlushScope>(0), static_cast<api::FlushScope>(101)});
  s.call({.function = "cuFlushGPUDirectRDMAWrites",
          .variant = variant,
          .arguments =
              Arguments{}("target", static_cast<unsigned>(target))("scope", static_cast<unsigned>(scope)),
          .context = s.model.contextSuffix()},
         [&](std::string&) { return s.cuda.flushGpuDirectRdmaWrites(target, scope); });
}

} // namespace rdmagpu::testkit::operations
