#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/difference.hpp>
#include <core/verify.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/storage_peer.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace rdmagpu {
namespace {

constexpr const char* call = "verify";
constexpr int mostAttempts = 4;

using core::atSlot;
using core::Difference;

/// What a peer holds, written by it into each slot and compared.
class HeldBytes {
public:
  HeldBytes(const RdmaGpuBuffer& buffer, StoragePeer& peer, const VerifyOptions& options)
      : m_buffer(buffer),
        m_peer(peer),
        m_seed(options.seed),
        m_held(options.bytes ? options.bytes : buffer.slot(0).size),
        m_found(buffer.slot(0).size),
        m_report(core::untriedReport(buffer, peer.name())) {}

  Result<VerifyReport> run();

private:
  Result<bool> proveSlot(std::uint32_t slot);
  Result<Difference> fillOnce(std::uint32_t slot);
  Result<void> findLaterHarm();
  Result<bool> changed(std::uint32_t slot);
  void fail(std::uint32_t slot, const Difference&);

  std::uint64_t guard(std::uint32_t slot) const noexcept { return m_seed + slot; }

  const RdmaGpuBuffer& m_buffer;
  StoragePeer& m_peer;
  std::uint64_t m_seed;
  std::vector<std::byte> m_held; ///< What the peer has for a slot.
  std::vector<std::byte> m_found;
  std::vector<std::uint64_t> m_sums; ///< Of each slot, when it was last right.
  Error m_refusal{};
  VerifyReport m_report;
};

Result<VerifyReport> HeldBytes::run() {
  m_report.readError = libraryError(call, LibraryCode::BlockReadOnly);
  const auto slots = static_cast<std::uint32_t>(m_buffer.slotCount());
  for(std::uint32_t slot = 0; slot < slots; ++slot) {
    if(const auto poisoned = m_buffer.poison(slot, guard(slot)); !poisoned)
      return poisoned.error();
    const auto sum = m_buffer.checksum(slot, m_found.size());
    if(!sum)
      return sum.error();
    m_sums.push_back(*sum);
  }
  m_report.write = Answer::Yes;
  for(std::uint32_t slot = 0; slot < slots; ++slot) {
    const auto tried = proveSlot(slot);
    if(!tried)
      return tried.error();
    if(!*tried) {
      m_report.write = Answer::Unknown;
      return std::move(m_report);
    }
  }
  if(const auto looked = findLaterHarm(); !looked)
    return looked.error();
  m_report.proof.written = m_report.write;
  m_report.proof.by = m_peer.agent();
  return std::move(m_report);
}

/// False: the peer cannot at all.
Result<bool> HeldBytes::proveSlot(std::uint32_t slot) {
  const auto harmed = changed(slot);
  if(!harmed)
    return harmed;
  if(*harmed) // by a transfer into another slot
    fail(slot, {.first = 0, .wrong = m_found.size(), .untouched = false});
  Difference found;
  for(int attempt = 0; attempt < mostAttempts; ++attempt) {
    const auto filled = fillOnce(slot);
    if(!filled)
      return filled.error();
    if(m_refusal.kind != Errc::None) {
      if(m_report.writeError.kind == Errc::None)
        m_report.writeError = m_refusal;
      if(slot == 0 && m_refusal.kind == Errc::Unsupported)
        return false;
      m_report.write = Answer::No;
      m_report.failures.push_back(
          {.slot = slot, .direction = Direction::Write, .error = std::exchange(m_refusal, {})});
      break;
    }
    found = *filled;
    const std::vector<std::byte> before = m_held;
    if(found.wrong != 0) {
      if(const auto fetched = m_peer.fetch(slot, m_held); !fetched)
        return atSlot(fetched.error(), slot);
    }
    if(found.wrong == 0 || m_held == before)
      break;
  }
  if(found.wrong != 0)
    fail(slot, found);
  const auto sum = m_buffer.checksum(slot, m_found.size());
  if(!sum)
    return sum.error();
  m_sums[slot] = *sum;
  return true;
}

/// The slot holds the complement of what is to come, and behind that poison, in which nothing must change.
Result<Difference> HeldBytes::fillOnce(std::uint32_t slot) {
  if(const auto fetched = m_peer.fetch(slot, m_held); !fetched)
    return atSlot(fetched.error(), slot);
  const std::span sent = std::span{m_found}.first(m_held.size());
  std::ranges::transform(m_held, sent.begin(), [](std::byte b) { return ~b; });
  if(const auto uploaded = m_buffer.upload(slot, sent); !uploaded)
    return atSlot(uploaded.error(), slot);
  std::vector<std::byte> behind(m_found.size() - m_held.size());
  if(const auto kept = m_buffer.download(slot, behind, m_held.size()); !kept)
    return atSlot(kept.error(), slot);
  if(const auto filled = m_peer.fill(slot, m_held.size()); !filled) {
    m_refusal = filled.error();
    return Difference{};
  }
  if(const auto flushed = m_buffer.flushPeerWrites(); !flushed)
    return atSlot(flushed.error(), slot);
  if(const auto downloaded = m_buffer.download(slot, m_found); !downloaded)
    return atSlot(downloaded.error(), slot);
  Difference found;
  found.add(sent, m_held, 0, m_held.size());
  found.add(std::span{m_found}.subspan(m_held.size()), behind, m_held.size(), m_held.size());
  return found;
}

/// A transfer into a later slot may have changed one that was right.
Result<void> HeldBytes::findLaterHarm() {
  for(std::uint32_t slot = 0; slot < m_buffer.slotCount(); ++slot) {
    const auto harmed = changed(slot);
    if(!harmed)
      return harmed.error();
    if(*harmed)
      fail(slot, {.first = 0, .wrong = m_found.size(), .untouched = false});
  }
  return {};
}

Result<bool> HeldBytes::changed(std::uint32_t slot) {
  const auto sum = m_buffer.checksum(slot, m_found.size());
  if(!sum)
    return atSlot(sum.error(), slot);
  return *sum != m_sums[slot];
}

void HeldBytes::fail(std::uint32_t slot, const Difference& found) {
  m_report.write = Answer::No;
  m_report.failures.push_back(found.asFailure(slot, Direction::Write));
}

} // namespace

Result<VerifyReport> verify(const RdmaGpuBuffer& buffer, StoragePeer& peer, const VerifyOptions& options) {
  if(peer.overwritten(1) != 0)
    return verify(buffer, static_cast<Peer&>(peer), options);
  return guarded(call, [&]() -> Result<VerifyReport> {
    if(!buffer.valid())
      return libraryError(call, LibraryCode::BufferEmpty);
    const std::size_t room = buffer.slot(0).size;
    if(options.bytes > room)
      return libraryError(call, LibraryCode::RangeOutOfSlot, options.bytes, room);
    return HeldBytes{buffer, peer, options}.run();
  });
}

} // namespace rdmagpu
