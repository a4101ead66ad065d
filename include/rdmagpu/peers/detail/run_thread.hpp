#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/peers/support.hpp>

#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace rdmagpu::peers::detail {

/// A device's side of a ring, and the thread that it runs on. `Run` starts the device (prime) and runs until
/// its end (loop); `Slots` lets the device go of them (release). stop() may be called by any thread, and
/// run() by those that call nothing else.
template <class Run, class Slots>
class RunThread {
public:
  explicit RunThread(Slots& slots) noexcept : m_slots(slots) {}
  RunThread(RunThread&&) = delete;

  /// Hold it while a run is started.
  std::mutex& joining() noexcept { return m_joining; }
  bool running() const noexcept { return m_thread.joinable(); }
  /// Stays when it is over: it has the counters.
  const std::optional<Run>& run() const noexcept { return m_run; }
  void forget() noexcept { m_run.reset(); }

  /// What `attach` says, which gives the device its slots, or that it could not be done.
  template <class Attach>
  static Error guarded(const char* call, Attach&& attach) noexcept {
    try {
      return std::forward<Attach>(attach)();
    } catch(const std::bad_alloc&) {
      return refusal(call, Refusal::OutOfMemory);
    } catch(const std::system_error& e) {
      return {.kind = Errc::Busy, .origin = Origin::Os, .code = e.code().value(), .call = "std::thread"};
    }
  }

  /// Starts the device and the thread. A failure leaves no run, and the device nothing.
  template <class... Arguments>
  Error start(const char* call, Arguments&&... arguments) noexcept {
    const Error error = guarded(call, [&] {
      m_run.emplace(m_slots, std::forward<Arguments>(arguments)...);
      const Error refused = m_run->prime();
      if(refused.kind == Errc::None)
        m_thread = std::thread{[run = &*m_run] { run->loop(); }};
      return refused;
    });
    if(error.kind == Errc::None)
      return error;
    (void)m_slots.release(); // what came first is what matters
    if(m_run)
      m_run->giveBack();
    m_run.reset();
    return error;
  }

  /// Ends the run, or waits for its end, and has the device let go of its slots.
  void end(bool now) noexcept {
    if(!m_run)
      return;
    if(now)
      m_run->stop();
    const std::lock_guard lock{m_joining};
    if(!m_thread.joinable())
      return;
    m_thread.join();
    m_run->stopped(m_slots.release());
  }

private:
  Slots& m_slots;
  std::optional<Run> m_run;
  std::mutex m_joining;
  std::thread m_thread;
};

} // namespace rdmagpu::peers::detail
