#include <program/operations.hpp>
#include <program/vmm.hpp>

namespace rdmagpu::testkit::operations {

using vmm::most;
using vmm::page;

namespace {

struct FreeCall {
  std::string variant{};
  std::string name{};
  api::DevicePtr address{};
  std::size_t bytes{};
  bool reused{};
};

FreeCall chooseOutside(const Session& s, const std::string& variant) {
  FreeCall call{.variant = variant, .name = variant, .bytes = s.model.granularity};
  if(variant == "bogus")
    call.address = vmm::bogusAddress;
  if(variant != "stale")
    return call;
  const Plain& stale = s.model.staleRanges.back();
  call.address = stale.start;
  call.bytes = stale.bytes;
  call.name = stale.name();
  call.reused = s.model.isTaken(call.address, call.bytes);
  return call;
}

FreeCall chooseWithin(Session& s, const Reservation& reservation, const std::string& variant) {
  const std::size_t skip = variant == "interior" ? s.model.granularity : 0;
  FreeCall call{.variant = variant,
                .name = vmm::at(reservation, skip),
                .address = reservation.start + skip,
                .bytes = reservation.bytes - skip};
  if(variant == "wrong-size")
    call.bytes = s.random.of({call.bytes + s.model.granularity, call.bytes / 2, std::size_t{0}});
  if(!reservation.mappings.empty())
    call.variant += "-mapped";
  return call;
}

} // namespace

void freeReservation(Session& s) {
  Reservation* const reservation = vmm::pickReservation(s);
  std::string variant =
      s.random.of({"good", "good", "good", "good", "wrong-size", "interior", "stale", "null", "bogus"});
  if(variant == "stale" && s.model.staleRanges.empty())
    variant = "null";
  const bool outside = variant == "stale" || variant == "null" || variant == "bogus";
  if(!outside && !reservation)
    return;
  const FreeCall call = outside ? chooseOutside(s, variant) : chooseWithin(s, *reservation, variant);
  if(variant == "interior" && call.bytes == 0)
    return;
  const bool freed =
      s.succeeds({.function = "cuMemAddressFree",
                  .variant = call.variant,
                  .arguments = Arguments{}("address", call.name)("bytes", call.bytes),
                  .effect = Effect::ChangesState,
                  .reused = call.reused},
                 [&](std::string&) { return s.cuda.memAddressFree(call.address, call.bytes); });
  if(!freed)
    return;
  if(call.variant != "good") {
    s.end();
    return;
  }
  auto& all = s.model.reservations;
  s.model.staleRanges.push_back({reservation->start, reservation->bytes, reservation->id});
  all.erase(all.begin() + (reservation - all.data()));
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
  vmm::reserve(s, variant, bytes, alignment, flags);
}

} // namespace rdmagpu::testkit::operations
