#pragma once
#include <core/peer_job.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace rdmagpu {

/// The memory of a card that plays out: as many frames as it has under way at once.
class PlayoutMemory {
public:
  /// `several`: for frames under way at once. For the queue of a GPU it is pinned, if that can be; else the
  /// log sink is told.
  static Result<PlayoutMemory> make(const PeerJob&, bool several);

  std::uint32_t frames() const noexcept { return m_frames; }
  std::span<std::byte> frame(std::uint64_t n) noexcept;

private:
  using Plain = std::vector<std::byte>;
  PlayoutMemory(std::variant<Plain, RdmaGpuBuffer> memory, std::uint32_t frames) noexcept
      : m_memory(std::move(memory)), m_frames(frames) {}

  std::variant<Plain, RdmaGpuBuffer> m_memory;
  std::uint32_t m_frames;
};

} // namespace rdmagpu
