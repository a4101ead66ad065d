#include <core/canaries.hpp>

#include <base/mix.hpp>

#include <algorithm>
#include <bit>

namespace rdmagpu::core {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

} // namespace

SlotCanaries::SlotCanaries(std::size_t frameBytes, std::size_t slotBytes, std::uint64_t key) {
  m_places.reserve(slotBytes / pageBytes + 3);
  addFrame(frameBytes, key);
  m_inFrame = m_places.size();
  addGuards(frameBytes, slotBytes);
}

/// The first and the last word, and one of each page between. Never the last of a page, which the frame's
/// last may reach into.
void SlotCanaries::addFrame(std::size_t frameBytes, std::uint64_t key) {
  const std::size_t last = frameBytes - word;
  if(last >= word)
    m_places.push_back({.offset = 0});
  for(std::size_t page = pageBytes; page + pageBytes < frameBytes; page += pageBytes)
    m_places.push_back({.offset = page + word * (mix(key + page) % (pageBytes / word - 1))});
  m_places.push_back({.offset = last});
}

void SlotCanaries::addGuards(std::size_t from, std::size_t to) {
  while(from < to) {
    const std::size_t width = std::min(word, to - from); // less only where the slot ends
    m_places.push_back({.offset = from, .width = width});
    from = (from + width + pageBytes - 1) / pageBytes * pageBytes;
  }
}

/// Of the places [from, to) the first that has changed, or has not.
std::optional<std::size_t> SlotCanaries::first(backend::Canaries::Changed bits, bool changed,
                                               std::size_t from, std::size_t to) const noexcept {
  constexpr std::size_t perWord = backend::Canaries::bitsPerWord;
  for(std::size_t i = from; i < to; i = (i / perWord + 1) * perWord) {
    std::uint32_t wanted = changed ? bits[i / perWord] : ~bits[i / perWord];
    wanted &= ~std::uint32_t{} << (i % perWord);
    if(wanted == 0)
      continue;
    const std::size_t place = i / perWord * perWord + static_cast<std::size_t>(std::countr_zero(wanted));
    return place < to ? std::optional{m_places[place].offset} : std::nullopt;
  }
  return {};
}

Samples SlotCanaries::judge(backend::Canaries::Changed bits, std::size_t bytes) const noexcept {
  const auto frameEnd = m_places.begin() + static_cast<std::ptrdiff_t>(m_inFrame);
  const auto end = std::partition_point(m_places.begin(), frameEnd, [&](const CanaryPlace& place) {
    return place.offset + place.width <= bytes;
  });
  const auto looked = static_cast<std::size_t>(end - m_places.begin());
  return {.untouched = first(bits, false, 0, looked),
          .changed = first(bits, true, 0, looked),
          .overwritten = first(bits, true, m_inFrame, m_places.size())};
}

} // namespace rdmagpu::core
