#include "stream/frame_check.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rdmagpu::cli {
namespace {

std::size_t firstDifference(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  const std::size_t common = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(common), b.begin()).first - a.begin());
}

/// A frame of which one stretch in the middle is wrong is not torn: its end tells.
bool endsOtherwise(std::span<const std::byte> source, std::span<const std::byte> bytes,
                   std::size_t offset) noexcept {
  constexpr std::size_t most = 4096;
  const std::size_t tail = std::min({most, source.size() - offset, bytes.size() - offset});
  return !std::ranges::equal(source.last(tail), bytes.last(tail));
}

} // namespace

const char* name(Damage damage) noexcept {
  switch(damage) {
  case Damage::Other:
    return "other";
  case Damage::Stale:
    return "stale";
  case Damage::Torn:
    return "torn";
  case Damage::Late:
    return "late";
  }
  return "?";
}

void FrameCheck::check(std::uint64_t sequence, std::uint32_t slot, std::span<const std::byte> bytes,
                       const Reread& reread) {
  const auto source = m_feed.source(sequence);
  if(m_mode.checks(sequence))
    compare(source, {.frame = sequence, .slot = slot}, m_hash(bytes), bytes, reread);
  else
    m_heldBefore[slot].reset();
}

void FrameCheck::checkHash(std::uint64_t sequence, std::uint32_t slot, std::uint64_t hash,
                           std::span<const std::byte> bytes, const Reread& read) {
  const auto source = m_feed.source(sequence);
  const bool bytesMatter = source && source->hash != hash;
  if(bytesMatter && !read())
    bytes = {};
  compare(source, {.frame = sequence, .slot = slot}, hash, bytes, read);
}

void FrameCheck::compare(std::optional<SourceFrame> source, Mismatch found, std::uint64_t hash,
                         std::span<const std::byte> bytes, const Reread& reread) {
  ++m_counts.checked;
  if(!source) {
    // A number that no frame had: nothing of it is right.
    mismatch(found);
  } else if(hash != source->hash) {
    found.offset = firstDifference(source->bytes, bytes);
    found.damage = judge(*source, bytes, hash, found.slot, found.offset, reread);
    mismatch(found);
  }
  m_heldBefore[found.slot] = hash;
}

Damage FrameCheck::judge(const SourceFrame& source, std::span<const std::byte> bytes, std::uint64_t hash,
                         std::uint32_t slot, std::size_t offset, const Reread& reread) const {
  if(hash == m_heldBefore[slot])
    return Damage::Stale;
  const bool torn = offset != 0 && endsOtherwise(source.bytes, bytes, offset);
  // Waiting costs the peer its slot, so only those that are listed are worth it.
  if(m_counts.mismatches < mostListed && comesLate(source, bytes, reread))
    return Damage::Late;
  return torn ? Damage::Torn : Damage::Other;
}

/// Looks again for a short while; a frame's time at the slowest usual rate and a little more.
bool FrameCheck::comesLate(const SourceFrame& source, std::span<const std::byte> bytes,
                           const Reread& reread) const {
  constexpr int looks = 10;
  constexpr std::chrono::milliseconds between{5};
  for(int i = 0; reread && i < looks; ++i) {
    if(!reread())
      return false;
    if(m_hash(bytes) == source.hash)
      return true;
    std::this_thread::sleep_for(between);
  }
  return false;
}

void FrameCheck::mismatch(Mismatch mismatch) {
  ++m_counts.mismatches;
  m_counts.stale += mismatch.damage == Damage::Stale ? 1 : 0;
  m_counts.torn += mismatch.damage == Damage::Torn ? 1 : 0;
  m_counts.late += mismatch.damage == Damage::Late ? 1 : 0;
  if(m_counts.first.size() < mostListed)
    m_counts.first.push_back(mismatch);
}

} // namespace rdmagpu::cli
