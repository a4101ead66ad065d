#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/difference.hpp>
#include <core/pattern.hpp>
#include <core/verify.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu {
namespace {

constexpr const char* call = "verify";
/// What is copied and compared at a time. The peer's interface moves a slot in one go; ours need not.
constexpr std::size_t chunkBytes = 1U << 20;

using core::atSlot;
using core::Difference;

struct SlotState {
  Difference stray;   ///< Found before the slot's own turn to be written.
  bool transferred{}; ///< As the peer says.
};

class Verification {
public:
  Verification(const RdmaGpuBuffer& buffer, Peer& peer, std::uint64_t seed, std::size_t bytes)
      : m_buffer(buffer),
        m_peer(peer),
        m_seed(seed),
        m_slots(static_cast<std::uint32_t>(buffer.slotCount())),
        m_slotBytes(buffer.slot(0).size),
        m_frame(bytes),
        m_chunk(std::min(chunkBytes, m_slotBytes)),
        m_found(m_chunk.size()),
        m_report(core::untriedReport(buffer, peer.name())) {}

  Result<VerifyReport> run();

private:
  Result<void> provePeerWrites();
  Result<void> provePeerReads();
  Result<void> poison(std::uint32_t slot);
  Result<Difference> compare(std::uint32_t slot, std::size_t sent);
  bool transferred(std::uint32_t slot, Direction, const Result<void>& outcome);
  void judge(std::uint32_t slot, Direction, const Difference&);

  std::span<std::byte> frame(std::uint32_t slot, Direction direction) noexcept {
    Pattern{m_seed, slot, direction}.fill(m_frame, 0, m_frame.size());
    return m_frame;
  }
  Answer& answer(Direction d) noexcept { return d == Direction::Write ? m_report.write : m_report.read; }
  Error& error(Direction d) noexcept {
    return d == Direction::Write ? m_report.writeError : m_report.readError;
  }

  const RdmaGpuBuffer& m_buffer;
  Peer& m_peer;
  const std::uint64_t m_seed;
  const std::uint32_t m_slots;
  const std::size_t m_slotBytes;
  std::vector<std::byte> m_frame; ///< What is sent.
  std::vector<std::byte> m_chunk;
  std::vector<std::byte> m_found;
  VerifyReport m_report;
};

Result<VerifyReport> Verification::run() {
  if(const auto done = provePeerWrites(); !done)
    return done.error();
  if(const auto done = provePeerReads(); !done)
    return done.error();
  m_report.proof.written = m_report.write;
  m_report.proof.read = m_report.read;
  if(m_report.write != Answer::Unknown || m_report.read != Answer::Unknown)
    m_report.proof.by = m_peer.agent();
  return std::move(m_report);
}

Result<void> Verification::provePeerWrites() {
  for(std::uint32_t slot = 0; slot < m_slots; ++slot) {
    if(const auto poisoned = poison(slot); !poisoned)
      return poisoned;
  }
  std::vector<SlotState> states(m_slots);
  for(std::uint32_t slot = 0; slot < m_slots; ++slot) {
    const auto stray = compare(slot, 0);
    if(!stray)
      return stray.error();
    states[slot].stray = *stray;
    const auto outcome = m_peer.write(slot, frame(slot, Direction::Write));
    states[slot].transferred = transferred(slot, Direction::Write, outcome);
    if(answer(Direction::Write) == Answer::Unknown)
      return {};
    if(const auto flushed = m_buffer.flushPeerWrites(); !flushed)
      return atSlot(flushed.error(), slot);
  }
  // After the last write, so that none has harmed a slot that was whole before.
  for(std::uint32_t slot = 0; slot < m_slots; ++slot) {
    if(!states[slot].transferred)
      continue;
    const auto found = compare(slot, m_frame.size());
    if(!found)
      return found.error();
    judge(slot, Direction::Write, found->wrong ? *found : states[slot].stray);
  }
  return {};
}

Result<void> Verification::provePeerReads() {
  for(std::uint32_t slot = 0; slot < m_slots; ++slot) {
    if(const auto uploaded = m_buffer.upload(slot, frame(slot, Direction::Read)); !uploaded)
      return atSlot(uploaded.error(), slot);
  }
  std::vector<std::byte> received(m_frame.size());
  for(std::uint32_t slot = 0; slot < m_slots; ++slot) {
    Pattern{m_seed, slot, Direction::Read}.fill(received, 0, 0);
    const bool moved = transferred(slot, Direction::Read, m_peer.read(slot, received));
    if(answer(Direction::Read) == Answer::Unknown)
      return {};
    if(!moved)
      continue;
    Difference found;
    found.add(received, frame(slot, Direction::Read), 0, received.size());
    if(found.wrong == 0) {
      // A read must leave the memory as it was.
      if(const auto downloaded = m_buffer.download(slot, received); !downloaded)
        return atSlot(downloaded.error(), slot);
      found.add(received, m_frame, 0, received.size());
    }
    judge(slot, Direction::Read, found);
  }
  return {};
}

Result<void> Verification::poison(std::uint32_t slot) {
  const Pattern pattern{m_seed, slot, Direction::Write};
  for(std::size_t at = 0; at < m_slotBytes; at += m_chunk.size()) {
    const std::span part = std::span{m_chunk}.first(std::min(m_chunk.size(), m_slotBytes - at));
    pattern.fill(part, at, 0);
    if(const auto uploaded = m_buffer.upload(slot, part, at); !uploaded)
      return atSlot(uploaded.error(), slot);
  }
  return {};
}

Result<Difference> Verification::compare(std::uint32_t slot, std::size_t sent) {
  const Pattern pattern{m_seed, slot, Direction::Write};
  Difference difference;
  for(std::size_t at = 0; at < m_slotBytes; at += m_chunk.size()) {
    const std::size_t bytes = std::min(m_chunk.size(), m_slotBytes - at);
    const std::span expected = std::span{m_chunk}.first(bytes);
    const std::span found = std::span{m_found}.first(bytes);
    pattern.fill(expected, at, sent);
    if(const auto downloaded = m_buffer.download(slot, found, at); !downloaded)
      return atSlot(downloaded.error(), slot);
    difference.add(found, expected, at, sent);
  }
  return difference;
}

/// Leaves the direction's answer Unknown when the peer says at the first slot that it cannot at all.
bool Verification::transferred(std::uint32_t slot, Direction direction, const Result<void>& outcome) {
  if(outcome) {
    if(slot == 0)
      answer(direction) = Answer::Yes;
    return true;
  }
  Error& first = error(direction);
  if(first.kind == Errc::None)
    first = atSlot(outcome.error(), slot);
  if(slot == 0 && outcome.error().kind == Errc::Unsupported)
    return false;
  answer(direction) = Answer::No;
  m_report.failures.push_back({.slot = slot, .direction = direction, .error = atSlot(outcome.error(), slot)});
  return false;
}

void Verification::judge(std::uint32_t slot, Direction direction, const Difference& found) {
  if(found.wrong == 0)
    return;
  answer(direction) = Answer::No;
  m_report.failures.push_back(found.asFailure(slot, direction));
}

} // namespace

VerifyReport core::untriedReport(const RdmaGpuBuffer& buffer, const char* peer) noexcept {
  VerifyReport report;
  report.peer = peer;
  report.slots = static_cast<std::uint32_t>(buffer.slotCount());
  report.proof = buffer.proof();
  return report;
}

Result<VerifyReport> verify(const RdmaGpuBuffer& buffer, Peer& peer, const VerifyOptions& options) {
  return guarded(call, [&]() -> Result<VerifyReport> {
    if(!buffer.valid())
      return libraryError(call, LibraryCode::BufferEmpty);
    const std::size_t room = buffer.slot(0).size;
    if(options.bytes > room)
      return libraryError(call, LibraryCode::RangeOutOfSlot, options.bytes, room);
    return Verification{buffer, peer, options.seed, options.bytes ? options.bytes : room}.run();
  });
}

} // namespace rdmagpu
