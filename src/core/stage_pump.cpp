#include <core/stage_pump.hpp>

#include <base/library_error.hpp>
#include <core/proof_access.hpp>
#include <os/cpu_relax.hpp>
#include <os/process.hpp>
#include <os/thread.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::core {
namespace {

/// How long the thread polls after the last thing that happened, if the next is due soon: longer than a
/// whole frame's copy takes, and than a card takes from one slice to the next.
constexpr std::chrono::nanoseconds pollTime = std::chrono::milliseconds{2};
/// How often it asks after that what nobody wakes it for.
constexpr std::chrono::nanoseconds askInterval = std::chrono::milliseconds{1};
/// Whoever publishes, advances or closes wakes it.
constexpr std::chrono::nanoseconds untilWoken = std::chrono::hours{1};
/// Where a piece of a frame may begin: at a page, as copy engines like it.
constexpr std::size_t pieceGranule = 4096;

} // namespace

StagePump::StagePump(SlotRing& ring, RingStage& stage, StageCopies copies, std::size_t sliceBytes)
    : m_ring(RingAccess::impl(ring)), m_stage(stage), m_copies(std::move(copies)), m_sliceBytes(sliceBytes) {
  m_transfers.reserve(m_ring.slotCount);
}

Result<void> StagePump::start() {
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  m_process = *process;
  m_ring.insert(m_stage);
  auto thread = os::startThread([this] { run(); });
  if(!thread)
    return thread.error();
  m_thread = *std::move(thread);
  return {};
}

void StagePump::stop() noexcept {
  if(!m_thread.joinable())
    return;
  if(os::currentProcess() != m_process) {
    m_thread.detach(); // a forked child has no such thread
    return;
  }
  m_ring.close(Producer);
  m_ring.close(Consumer);
  m_thread.join();
  static_cast<void>(m_copies.queue.finish()); // a failure was logged
}

Error StagePump::error() const noexcept {
  const std::lock_guard lock{m_mutex};
  return m_error;
}

void StagePump::run() noexcept {
  while(!m_atEnd) {
    if(step())
      m_lastMove = Clock::now();
    else if((mustAsk() || endIsDue()) && Clock::now() - m_lastMove < pollTime)
      os::cpuRelax();
    else
      sleep();
  }
  m_stage.ended.store(true, std::memory_order_release);
  m_ring.notify();
}

void StagePump::sleep() noexcept {
  m_stage.gate.arm();
  if(step() || m_atEnd) {
    m_stage.gate.disarm();
    m_lastMove = Clock::now();
    return;
  }
  m_stage.gate.wait(mustAsk() ? askInterval : untilWoken);
}

/// Does what can be done now; false when that is nothing.
bool StagePump::step() noexcept {
  if(m_ring.closed(Consumer)) {
    m_atEnd = true;
    return false;
  }
  const bool producerEnded = m_ring.closed(Producer); // before looking for what it left
  bool moved = takeUp();
  for(Transfer& transfer : m_transfers)
    moved |= !m_atEnd && advance(transfer, producerEnded);
  std::erase_if(m_transfers, [](const Transfer& transfer) { return transfer.over; });
  m_atEnd |= producerEnded && m_transfers.empty();
  return moved;
}

bool StagePump::takeUp() noexcept {
  bool any = false;
  while(const std::uint32_t* front = m_stage.published.front()) {
    const std::uint32_t slot = *front;
    m_stage.published.pop();
    const Progress& progress = m_ring.producer.progress[slot];
    if(progress.bytes > m_copies.peerSlots[slot].size()) {
      fail(libraryError("SlotRing::publish", LibraryCode::RangeOutOfSlot, progress.bytes,
                        m_copies.peerSlots[slot].size()),
           slot);
      return true;
    }
    m_transfers.push_back({.slot = slot, // room was reserved for all slots
                           .inParts = !progress.whole(),
                           .filled = m_stage.slots[slot].filled.done == nullptr,
                           .bytes = progress.bytes});
    any = true;
  }
  return any;
}

bool StagePump::advance(Transfer& transfer, bool producerEnded) noexcept {
  const bool concluded = conclude(transfer);
  if(transfer.over || m_atEnd || !isFilled(transfer)) // at the end after a failure: it is not offered then
    return concluded;
  const bool arrived = look(transfer);
  const bool last = transfer.ready == transfer.bytes || producerEnded;
  const bool started = startPart(transfer, last);
  prove(transfer);
  if(last && transfer.parts == 0 && transfer.started == transfer.ready) {
    // Nothing, or all that there will be of a frame whose producer has ended: waitBytes() says so then.
    transfer.over = true;
    offer(transfer);
    return true;
  }
  return concluded || arrived || started;
}

/// Takes note of the copies that are over.
bool StagePump::conclude(Transfer& transfer) noexcept {
  bool any = false;
  while(transfer.parts > 0 && transfer.part.front().copy.done()) {
    const Part part = std::move(transfer.part.front());
    std::move(transfer.part.begin() + 1, transfer.part.end(), transfer.part.begin());
    --transfer.parts;
    any = true;
    if(const auto outcome = part.copy.wait(); !outcome) {
      fail(outcome.error(), transfer.slot);
      return any;
    }
    transfer.over = part.end == transfer.bytes;
    // When the consumer has had its offer, the first of these makes the slot free; else the second.
    m_stage.moved[transfer.slot].bytesReady.store(part.end, std::memory_order_release);
    if(transfer.over || transfer.inParts)
      offer(transfer);
    m_ring.notify();
  }
  return any;
}

/// Lets the consumer have the frame.
void StagePump::offer(Transfer& transfer) noexcept {
  if(transfer.offered)
    return;
  transfer.offered = true;
  m_stage.slots[transfer.slot].offered.store(true, std::memory_order_release);
  m_ring.notify();
}

bool StagePump::isFilled(Transfer& transfer) noexcept {
  if(!transfer.filled) {
    const RingCompletion& filled = m_stage.slots[transfer.slot].filled;
    transfer.filled = filled.done(filled.context);
  }
  return transfer.filled;
}

/// Whether more of the frame has come.
bool StagePump::look(Transfer& transfer) noexcept {
  const std::size_t ready =
      m_ring.producer.progress[transfer.slot].bytesReady.load(std::memory_order_acquire);
  if(ready == transfer.ready)
    return false;
  transfer.step = ready - transfer.ready;
  transfer.ready = ready;
  return true;
}

/// While its end is copied: of the frame itself startPart() has seen all by then.
void StagePump::prove(Transfer& transfer) noexcept {
  if(transfer.proven || transfer.ready != transfer.bytes)
    return;
  transfer.proven = true;
  if(m_stage.proof)
    m_stage.proof->check(transfer.slot, transfer.bytes);
}

/// `last`: nothing more will come.
bool StagePump::startPart(Transfer& transfer, bool last) noexcept {
  if(transfer.parts == partsAtOnce || transfer.started == transfer.ready)
    return false;
  const std::size_t end = last ? transfer.ready : transfer.ready - transfer.ready % pieceGranule;
  if(!last && end < transfer.started + m_sliceBytes)
    return false;
  if(m_stage.proof) // before it is read: what comes later is not in the copy
    ProofAccess::look(*m_stage.proof, transfer.slot, end);
  auto copy = m_copies.start(transfer.slot, transfer.started, end);
  if(!copy) {
    fail(copy.error(), transfer.slot);
    return true;
  }
  transfer.part[transfer.parts++] = {*std::move(copy), end};
  transfer.started = end;
  return true;
}

void StagePump::fail(Error error, std::uint32_t slot) noexcept {
  error.slot = static_cast<std::int32_t>(slot);
  {
    const std::lock_guard lock{m_mutex};
    m_error = error;
  }
  m_atEnd = true;
  m_ring.close(Producer);
  m_ring.close(Consumer);
}

/// Whether something is under way that wakes nobody.
bool StagePump::mustAsk() const noexcept {
  return std::any_of(m_transfers.begin(), m_transfers.end(),
                     [](const Transfer& transfer) { return transfer.parts > 0 || !transfer.filled; });
}

/// Whether as much as came last would make a frame whole.
bool StagePump::endIsDue() const noexcept {
  return std::any_of(m_transfers.begin(), m_transfers.end(), [](const Transfer& transfer) {
    return transfer.ready < transfer.bytes && transfer.bytes - transfer.ready <= transfer.step;
  });
}

} // namespace rdmagpu::core
