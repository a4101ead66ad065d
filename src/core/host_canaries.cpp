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

Result<void> HostCanaries::start(std::span<const backend::CanaryTask> tasks) noexcept {
  for(const backend::CanaryTask& task : tasks) {
    look(m_slots[task.slot]);
    if(task.key)
      lay(m_slots[task.slot], *task.key);
  }
  return {};
}

void HostCanaries::look(Slot& slot) noexcept {
  auto word = slot.words.begin();
  for(std::uint32_t& bits : slot.changed) {
    std::uint32_t changed{};
    for(std::size_t bit = 0; bit < bitsPerWord && word != slot.words.end(); ++bit, ++word) {
      const std::uint64_t before = std::exchange(word->last, read(slot.data, word->place));
      changed |= static_cast<std::uint32_t>(word->last != before) << bit;
    }
    bits = changed;
  }
}

void HostCanaries::lay(Slot& slot, std::uint64_t key) noexcept {
  std::uint64_t seed = key;
  for(Word& word : slot.words) {
    const std::uint64_t canary = mix(seed);
    seed += goldenStep;
    std::memcpy(slot.data + word.place.offset, &canary, widthOf(word.place));
    word.last = read(slot.data, word.place);
  }
}

} // namespace rdmagpu::core
