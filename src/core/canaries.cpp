#include <core/canaries.hpp>

#include <base/mix.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace rdmagpu::core {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

} // namespace

SlotCanaries::SlotCanaries(std::byte* slot, std::size_t frameBytes, std::size_t slotBytes, std::uint64_t key)
    : m_slot(slot) {
  m_samples.reserve(slotBytes / pageBytes + 3);
  addFrame(frameBytes, key);
  m_inFrame = m_samples.size();
  addGuards(frameBytes, slotBytes);
  for(Sample& sample : m_samples)
    sample.last = read(sample);
}

/// The first and the last word, and one of each page between. Never the last of a page, which the frame's
/// last may reach into.
void SlotCanaries::addFrame(std::size_t frameBytes, std::uint64_t key) {
  const std::size_t last = frameBytes - word;
  if(last >= word)
    m_samples.push_back({.offset = 0});
  for(std::size_t page = pageBytes; page + pageBytes < frameBytes; page += pageBytes)
    m_samples.push_back({.offset = page + word * (mix(key + page) % (pageBytes / word - 1))});
  m_samples.push_back({.offset = last});
}

void SlotCanaries::addGuards(std::size_t from, std::size_t to) {
  while(from < to) {
    const std::size_t width = std::min(word, to - from);
    m_samples.push_back({.offset = from, .width = width});
    from = (from + width + pageBytes - 1) / pageBytes * pageBytes;
  }
}

std::uint64_t SlotCanaries::read(const Sample& sample) const noexcept {
  std::uint64_t value{};
  std::memcpy(&value, m_slot + sample.offset, sample.width == word ? word : sample.width);
  return value;
}

Samples SlotCanaries::lay(std::uint64_t key) noexcept {
  const Samples found = look(std::numeric_limits<std::size_t>::max());
  for(std::size_t i = 0; i < m_samples.size(); ++i) {
    Sample& sample = m_samples[i];
    const std::uint64_t canary = mix(key + i * goldenStep);
    std::memcpy(m_slot + sample.offset, &canary, sample.width == word ? word : sample.width);
    sample.last = read(sample);
  }
  return found;
}

Samples SlotCanaries::look(std::size_t bytes) noexcept {
  Samples found;
  for(std::size_t i = 0; i < m_samples.size(); ++i) {
    Sample& sample = m_samples[i];
    const std::uint64_t before = std::exchange(sample.last, read(sample));
    const bool changed = sample.last != before;
    if(i >= m_inFrame) {
      if(changed)
        found.overwritten.add(sample.offset);
    } else if(sample.offset + sample.width <= bytes) {
      ++found.looked;
      (changed ? found.changed : found.untouched).add(sample.offset);
    }
  }
  return found;
}

} // namespace rdmagpu::core
