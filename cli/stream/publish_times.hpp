#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace rdmagpu::cli {

/// When each of the last few thousand frames was published: written by the producer, read by whoever got
/// the frame, which the ring's newest-wins policy may let happen much later.
class PublishTimes {
public:
  void set(std::uint64_t sequence, std::int64_t nanoseconds) noexcept {
    Entry& entry = m_entries[sequence % m_entries.size()];
    entry.sequence.store(nobody);
    entry.nanoseconds.store(nanoseconds);
    entry.sequence.store(sequence);
  }

  /// Empty when so many frames were published since that the time is gone.
  std::optional<std::int64_t> get(std::uint64_t sequence) const noexcept {
    const Entry& entry = m_entries[sequence % m_entries.size()];
    if(entry.sequence.load() != sequence)
      return {};
    const std::int64_t nanoseconds = entry.nanoseconds.load();
    return entry.sequence.load() == sequence ? std::optional(nanoseconds) : std::nullopt;
  }

private:
  static constexpr std::uint64_t nobody = std::numeric_limits<std::uint64_t>::max();
  struct Entry {
    std::atomic<std::uint64_t> sequence{nobody};
    std::atomic<std::int64_t> nanoseconds{};
  };
  std::array<Entry, 4096> m_entries;
};

} // namespace rdmagpu::cli
