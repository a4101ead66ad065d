#include <core/host_canaries.hpp>

#include <base/mix.hpp>

#include <cstring>
#include <utility>

namespace rdmagpu::core {
namespace {

std::size_t widthOf(const backend::CanaryPlace& place) noexcept {
  constexpr std::size_t usual = sizeof(std::uint64_t); // known to the compiler: a load, and no call
  return place.width == usual ? usual : place.width;
}

std::uint64_t read(const std::byte* slot, const backend::CanaryPlace& place) noexcept {
  std::uint64_t value{};
  std::memcpy(&value, slot + place.offset, widthOf(place));
  return value;
}

} // namespace

void HostCanaries::add(std::byte* slot, std::span<const backend::CanaryPlace> places) {
  Slot& added = m_slots.emplace_back(Slot{.data = slot, .words = {}, .changed = {}});
  added.words.reserve(places.size());
  for(const backend::CanaryPlace& place : places)
    added.words.push_back({.last = read(slot, place), .place = place});
  added.changed.resize((places.size() + bitsPerWord - 1) / bitsPerWord);
}

Result<backend::Canaries::Changed> HostCanaries::look(std::size_t index) noexcept {
  Slot& slot = m_slots[index];
  auto word = slot.words.begin();
  for(std::uint32_t& bits : slot.changed) {
    std::uint32_t changed{};
    for(std::size_t bit = 0; bit < bitsPerWord && word != slot.words.end(); ++bit, ++word) {
      const std::uint64_t before = std::exchange(word->last, read(slot.data, word->place));
      changed |= static_cast<std::uint32_t>(word->last != before) << bit;
    }
    bits = changed;
  }
  return Changed{slot.changed};
}

Result<backend::Canaries::Changed> HostCanaries::lay(std::size_t index, std::uint64_t key) noexcept {
  const auto found = look(index);
  Slot& slot = m_slots[index];
  std::uint64_t seed = key;
  for(Word& word : slot.words) {
    const std::uint64_t canary = mix(seed);
    seed += goldenStep;
    std::memcpy(slot.data + word.place.offset, &canary, widthOf(word.place));
    word.last = read(slot.data, word.place);
  }
  return found;
}

} // namespace rdmagpu::core
