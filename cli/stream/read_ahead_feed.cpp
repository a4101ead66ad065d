#include "stream/read_ahead_feed.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace rdmagpu::cli {
namespace {

/// Beside those that may lie in slots: the one being checked, the one being written, and two read ahead.
constexpr std::size_t framesBesideSlots = 4;
/// What a GPU's copy engine has under way while the next one is fetched.
constexpr std::size_t framesBeingCopied = 3;
constexpr std::chrono::milliseconds lookAtFlag{100};

} // namespace

ReadAheadFeed::ReadAheadFeed(FrameSequence input, CheckMode check, const SlotRing& ring,
                             std::atomic<bool>& stop, const CopyingGpu& gpu, FrameHash hash)
    : m_input(input),
      m_check(check),
      m_ring(ring),
      m_stop(stop),
      m_gpu(gpu),
      m_hash(hash),
      m_kept(gpu ? framesBeingCopied : 0),
      m_frameBytes(input.frameBytes()),
      m_mostFrames(ring.slotCount() + framesBesideSlots + m_kept),
      m_thread([this] { run(); }) {}

ReadAheadFeed::~ReadAheadFeed() {
  m_stop.store(true);
  m_thread.join();
}

template <class Condition>
bool ReadAheadFeed::waitFor(Lock& lock, Condition condition, std::chrono::milliseconds timeout) {
  return m_changed.wait_for(lock, timeout, [&] { return m_stop.load() || condition(); });
}

template <class Condition>
void ReadAheadFeed::wait(Lock& lock, Condition condition) {
  // Nobody notifies when a signal sets the flag.
  while(!waitFor(lock, condition, lookAtFlag)) {
  }
}

// The reading thread.

void ReadAheadFeed::run() try {
  for(std::uint64_t sequence = 0;; ++sequence) {
    auto frame = memoryForOne();
    if(!frame)
      return finish({});
    const auto status = m_input.read({frame->memory.data(), m_frameBytes});
    if(!status)
      return finish(status.error());
    if(*status == FrameStatus::End)
      return finish({});
    frame->sequence = sequence;
    if(m_check.checks(sequence))
      frame->hash = m_hash(view(*frame).bytes);
    const Lock lock(m_mutex);
    m_read.push_back(*std::move(frame));
    m_changed.notify_all();
  }
} catch(const std::bad_alloc&) {
  finish(InputError{InputErrorKind::Io, "no memory is left to read a frame into"});
}

/// Empty once the flag is set.
std::optional<ReadAheadFeed::Frame> ReadAheadFeed::memoryForOne() {
  Lock lock(m_mutex);
  wait(lock, [&] { return !m_spare.empty() || m_made < m_mostFrames; });
  if(m_stop.load())
    return {};
  if(m_spare.empty()) {
    Frame frame{.memory = FrameMemory(m_frameBytes, m_gpu)};
    ++m_made;
    return frame;
  }
  // The one that was given back last may still be in a cache.
  Frame frame = std::move(m_spare.back());
  m_spare.pop_back();
  return frame;
}

void ReadAheadFeed::finish(std::optional<InputError> failure) {
  const Lock lock(m_mutex);
  m_ended = true;
  m_failure = std::move(failure);
  m_changed.notify_all();
}

// The side that fills slots.

/// Finds out what became of the frame handed out last.
void ReadAheadFeed::settleLast() {
  if(!m_last)
    return;
  const std::uint64_t count = m_ring.counters().published;
  const bool published = count != std::exchange(m_publishedCount, count);
  Frame frame = *std::exchange(m_last, std::nullopt);
  if(!published || !m_check.checks(frame.sequence)) {
    reuse(std::move(frame));
    return;
  }
  m_published.push_back(std::move(frame));
  forgetOvertaken();
  keepOnlyWanted();
}

/// Under newest-wins a frame goes out of the ring without being taken. Which ones have gone is not known,
/// only that no more are there than slots; and while one is being taken not even that, for it may have
/// been there when the take began.
void ReadAheadFeed::forgetOvertaken() {
  const std::size_t slots = m_ring.slotCount();
  if(m_ring.policy() == RingPolicy::Newest && !m_taking && m_published.size() >= slots)
    m_oldestWanted = std::max(m_oldestWanted, m_published[m_published.size() - slots].sequence);
}

void ReadAheadFeed::keepOnlyWanted() {
  for(auto frame = m_published.begin(); frame != m_published.end();) {
    if(frame->sequence >= m_oldestWanted || frame->sequence == m_pinned) {
      ++frame;
      continue;
    }
    reuse(std::move(*frame));
    frame = m_published.erase(frame);
  }
}

/// Its copy is over once next() was called for the first frame that does not want it kept.
void ReadAheadFeed::reuse(Frame frame) {
  const bool over = frame.sequence + m_kept + 1 < m_calls;
  (over ? m_spare : m_resting).push_back(std::move(frame));
}

std::span<const std::byte> ReadAheadFeed::next() {
  Lock lock(m_mutex);
  settleLast();
  ++m_calls;
  for(Frame& frame : std::exchange(m_resting, {}))
    reuse(std::move(frame));
  m_changed.notify_all();
  wait(lock, [&] { return !m_read.empty() || m_ended; });
  if(m_read.empty() || m_stop.load())
    return {};
  m_last = std::move(m_read.front());
  m_read.pop_front();
  return view(*m_last).bytes;
}

bool ReadAheadFeed::ready(std::chrono::milliseconds timeout) {
  Lock lock(m_mutex);
  settleLast();
  m_changed.notify_all();
  return waitFor(
      lock, [&] { return !m_read.empty() || m_ended; }, timeout);
}

// The side that checks.

void ReadAheadFeed::expectTake() {
  const Lock lock(m_mutex);
  m_taking = true;
}

std::optional<SourceFrame> ReadAheadFeed::source(std::uint64_t sequence) {
  const Lock lock(m_mutex);
  m_taking = false;
  m_pinned = sequence;
  m_oldestWanted = std::max(m_oldestWanted, sequence + 1);
  forgetOvertaken();
  keepOnlyWanted();
  m_changed.notify_all();
  // It may have been taken before the next one was fetched.
  if(m_last && m_last->sequence == sequence)
    return view(*m_last);
  const auto found = std::find_if(m_published.begin(), m_published.end(),
                                  [&](const Frame& frame) { return frame.sequence == sequence; });
  return found == m_published.end() ? std::nullopt : std::optional(view(*found));
}

std::optional<InputError> ReadAheadFeed::failure() const {
  const Lock lock(m_mutex);
  return m_failure;
}

} // namespace rdmagpu::cli
