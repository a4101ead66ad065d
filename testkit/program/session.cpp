#include <program/session.hpp>

#include <array>
#include <utility>
#include <vector>

namespace rdmagpu::testkit {
namespace {

constexpr std::size_t page = 4096;
/// Where no driver and no process has anything.
constexpr api::DevicePtr bogusAddress = 0x1000;

const Place nullPlace{"null", 0, 1U << 20, "null"};

} // namespace

std::byte* hostBuffer() noexcept {
  alignas(page) static std::array<std::byte, hostBytes> buffer;
  return buffer.data();
}

Place Session::pickMapped(api::AccessFlags access, const char* kind) {
  std::vector<std::pair<const Reservation*, const Mapped*>> found;
  for(const Reservation& reservation : model.reservations) {
    for(const Mapped& mapped : reservation.mappings) {
      if(mapped.access == access)
        found.emplace_back(&reservation, &mapped);
    }
  }
  if(found.empty())
    return nullPlace;
  const auto [reservation, mapped] = found[random.below(found.size())];
  const std::size_t skip = random.chance(50) ? 0 : random.below(mapped->bytes / page) * page;
  const std::size_t at = mapped->offset + skip;
  const std::size_t end = mapped->offset + mapped->bytes;
  Place place{kind, reservation->start + at, mapped->bytes - skip,
              reservation->name() + "+" + std::to_string(at)};
  const Mapped* next = end < reservation->bytes ? reservation->overlapping(end, model.granularity) : nullptr;
  if(next && next->access == access)
    place.alike = next->bytes;
  if(!next && end < reservation->bytes)
    place.hole = model.granularity;
  return place;
}

Place Session::pickHole() {
  for(const Reservation& reservation : model.reservations) {
    for(std::size_t at = 0; at < reservation.bytes; at += model.granularity) {
      if(!reservation.overlapping(at, model.granularity))
        return {"hole", reservation.start + at, model.granularity,
                reservation.name() + "+" + std::to_string(at)};
    }
  }
  return nullPlace;
}

Place Session::pickPlace() {
  for(int tries = 0; tries < 4; ++tries) {
    Place place = pickAnyPlace();
    if(place.address != 0)
      return place;
  }
  return nullPlace;
}

Place Session::pickAnyPlace() {
  const std::size_t what = random.below(20);
  if(what < 8)
    return pickMapped(api::AccessFlags::ReadWrite, "mapped");
  if(what < 12) {
    if(model.plain.empty())
      return nullPlace;
    const Plain& plain = model.plain[random.below(model.plain.size())];
    const std::size_t skip = random.chance(50) ? 0 : random.below(plain.bytes);
    return {"plain", plain.start + skip, plain.bytes - skip, plain.name() + "+" + std::to_string(skip)};
  }
  if(what < 14)
    return pickMapped(noAccess, "no-access");
  if(what < 16)
    return pickMapped(readOnly, "read-only");
  if(what == 16)
    return pickHole();
  if(what == 17 && !model.staleRanges.empty())
    return {"stale-range", model.staleRanges.back().start, page, model.staleRanges.back().name()};
  if(what == 18)
    return {"bogus", bogusAddress, page, "bogus"};
  if(what == 19)
    return {"host", reinterpret_cast<api::DevicePtr>(hostBuffer()), page, "host"}; // no device pointer: meant
  return nullPlace;
}

void Session::cleanUp() {
  for(std::size_t popped = 0; popped < 64; ++popped) { // deeper than any episode pushes
    api::Context context{};
    if(cuda.ctxPopCurrent(&context) != api::Status::Success)
      break;
  }
  for(const Reservation& reservation : model.reservations) {
    for(const Mapped& mapped : reservation.mappings)
      cuda.memUnmap(reservation.start + mapped.offset, mapped.bytes);
    cuda.memAddressFree(reservation.start, reservation.bytes);
  }
  for(const Handle& handle : model.handles)
    cuda.memRelease(handle.value);
  api::Context primary{};
  if(!model.plain.empty() && cuda.primaryCtxRetain(&primary, api::Device{}) == api::Status::Success) {
    cuda.ctxPushCurrent(primary);
    for(const Plain& plain : model.plain)
      cuda.memFree(plain.start);
    cuda.ctxPopCurrent(&primary);
    cuda.primaryCtxRelease(api::Device{});
  }
  for(; model.retained > 0; --model.retained)
    cuda.primaryCtxRelease(api::Device{});
}

} // namespace rdmagpu::testkit
