#include <program/model.hpp>

#include <algorithm>

namespace rdmagpu::testkit {

const Mapped* Reservation::overlapping(std::size_t offset, std::size_t size) const {
  const auto it = std::find_if(mappings.begin(), mappings.end(), [&](const Mapped& mapped) {
    return mapped.offset < offset + size && offset < mapped.offset + mapped.bytes;
  });
  return it == mappings.end() ? nullptr : &*it;
}

bool Model::isTaken(api::DevicePtr address, std::size_t bytes) const {
  const auto touches = [&](const auto& piece) {
    return piece.start < address + bytes && address < piece.start + piece.bytes;
  };
  return std::any_of(reservations.begin(), reservations.end(), touches) ||
         std::any_of(plain.begin(), plain.end(), touches);
}

const char* Model::contextSuffix() const noexcept {
  if(stack.empty() || !stack.back())
    return "+none";
  return contextIsAlive() ? "" : "+gone";
}

std::string Model::nameOf(api::Context context) const {
  if(!context)
    return "null";
  return context == primary ? "primary" : "other";
}

} // namespace rdmagpu::testkit
