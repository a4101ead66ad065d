#include <base/library_error.hpp>
#include <core/peer_thread.hpp>
#include <os/thread.hpp>

#include <new>
#include <utility>

namespace rdmagpu {

Result<void> PeerThread::start(const char* call, SlotRing& ring, CloseSide close, Body body) {
  std::unique_lock lock{m_mutex};
  if(m_thread.joinable() && !m_counters.finished)
    return libraryError(call, LibraryCode::PeerRunning);
  join(lock);
  m_stopping = false;
  m_counters = {};
  auto thread =
      os::startThread([this, call, &ring, close, work = std::move(body)] { run(call, ring, close, work); });
  if(!thread)
    return thread.error();
  m_thread = *std::move(thread);
  m_ring = &ring;
  m_close = close;
  return {};
}

void PeerThread::run(const char* call, SlotRing& ring, CloseSide close, const Body& body) noexcept {
  Ending ending = Ending::Closed;
  try {
    ending = body();
  } catch(const std::bad_alloc&) {
    fail(libraryError(call, LibraryCode::OutOfMemory));
  } catch(...) {
    fail(libraryError(call, LibraryCode::PeerCallbackThrew));
  }
  if(ending == Ending::Closed)
    (ring.*close)();
  const std::lock_guard lock{m_mutex};
  m_counters.finished = true;
  m_changed.notify_all();
}

/// Whoever comes first joins; the thread needs the mutex no more once it has finished.
void PeerThread::join(std::unique_lock<std::mutex>& lock) noexcept {
  if(!m_thread.joinable())
    return;
  m_changed.wait(lock, [this] { return m_counters.finished; });
  if(m_thread.joinable())
    m_thread.join();
}

void PeerThread::stop() noexcept {
  std::unique_lock lock{m_mutex};
  if(!m_thread.joinable())
    return;
  m_stopping = true;
  m_changed.notify_all();
  (m_ring->*m_close)();
  join(lock);
}

void PeerThread::wait() noexcept {
  std::unique_lock lock{m_mutex};
  join(lock);
}

PeerCounters PeerThread::counters() const noexcept {
  const std::lock_guard lock{m_mutex};
  return m_counters;
}

bool PeerThread::sleepUntil(std::chrono::steady_clock::time_point time) noexcept {
  std::unique_lock lock{m_mutex};
  return !m_changed.wait_until(lock, time, [this] { return m_stopping; });
}

void PeerThread::countFrame(std::size_t bytes) noexcept {
  const std::lock_guard lock{m_mutex};
  ++m_counters.frames;
  m_counters.bytes += bytes;
}

void PeerThread::countMiss() noexcept {
  const std::lock_guard lock{m_mutex};
  ++m_counters.missed;
}

void PeerThread::fail(const Error& error) noexcept {
  const std::lock_guard lock{m_mutex};
  if(m_counters.error.kind == Errc::None)
    m_counters.error = error;
}

} // namespace rdmagpu
