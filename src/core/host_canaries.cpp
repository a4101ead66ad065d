#include <core/host_canaries.hpp>

#include <base/mix.hpp>

#include <algorithm>
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
    Slot& slot = m_slots[task.slot];
    lookUpTo(slot, slot.words.size());
    slot.looked = 0;
    if(task.key)
      lay(slot, *task.key);
  }
  return {};
}

void HostCanaries::lookAhead(std::size_t index, std::size_t bytes) noexcept {
  Slot& slot = m_slots[index];
  const auto from = slot.words.begin() + static_cast<std::ptrdiff_t>(slot.looked);
  const auto end = std::partition_point(from, slot.words.end(), [&](const Word& word) {
    return word.place.offset + word.place.width <= bytes;
  });
  lookUpTo(slot, static_cast<std::size_t>(end - slot.words.begin()));
}

/// From where it was looked at ahead.
void HostCanaries::lookUpTo(Slot& slot, std::size_t end) noexcept {
  while(slot.looked < end) {
    std::uint32_t& bits = slot.changed[slot.looked / bitsPerWord];
    std::uint32_t changed = slot.looked % bitsPerWord == 0 ? 0 : bits;
    do {
      Word& word = slot.words[slot.looked];
      const std::uint64_t before = std::exchange(word.last, read(slot.data, word.place));
      changed |= static_cast<std::uint32_t>(word.last != before) << slot.looked % bitsPerWord;
    } while(++slot.looked < end && slot.looked % bitsPerWord != 0);
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
