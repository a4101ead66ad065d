#include <rdmagpu/copy_queue.hpp>

#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>
#include <core/buffer_state.hpp>
#include <core/copy_queue_access.hpp>
#include <os/process.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace rdmagpu {

/// Copies have numbers from 1 on. Number n has the mark n % depth, which is used again once n is over: so
/// what a mark says of a later copy holds for an earlier one too.
struct Copy::Queue {
  struct Mark {
    std::atomic<std::uint64_t> over{}; ///< The last number of this mark that is known to be over.
    std::uint64_t failed{};            ///< Under failureMutex, as is the error.
    Error error{};
  };
  struct Slot {
    Queue* queue{};
    std::atomic<std::uint64_t> last{}; ///< The copies before it are over when it is: they share its lane.
    std::uint32_t lane{};              ///< Under mutex.
  };

  Queue(const core::BufferState& state, const CopyQueueOptions& options)
      : layout(state.layout),
        pci(state.facts.pci),
        lanes(options.stream ? 1 : options.streams),
        region(state.regions.front()),
        marks(options.depth),
        slots(layout.slotCount),
        process(os::currentProcess()) {
    for(Slot& slot : slots)
      slot.queue = this;
  }

  /// In a forked child another thread's locks may be held for good.
  bool isForeign() const noexcept { return process != os::currentProcess(); }
  Result<void> checkProcess() const noexcept {
    return isForeign() ? Result<void>{libraryError("CopyQueue", LibraryCode::ForkedChild)} : Result<void>{};
  }
  bool isOver(std::uint64_t number) noexcept;
  Result<void> wait(std::uint64_t number) noexcept;
  void conclude(std::uint64_t number, const Result<void>& outcome) noexcept;
  Result<void> outcomeOf(std::uint64_t number) noexcept;
  Result<void> finish() noexcept;

  /// `start` is given a lane and a mark.
  template <class Start>
  Result<std::uint64_t> add(std::size_t slot, Start start);

  Mark& markOf(std::uint64_t number) noexcept { return marks[number % marks.size()]; }
  std::uint32_t indexOf(std::uint64_t number) const noexcept {
    return static_cast<std::uint32_t>(number % marks.size());
  }

  const core::SlotLayout layout;
  const std::optional<PciAddress> pci;
  const std::uint32_t lanes;
  const core::RegionPtr region; // before the copies, which may be under way in it
  std::unique_ptr<backend::Copies> copies;

  std::mutex mutex; ///< For starting.
  std::atomic<std::uint64_t> last{};
  std::uint32_t nextLane{}; ///< Under mutex.
  std::vector<Mark> marks;
  std::vector<Slot> slots;
  const std::uint64_t process; ///< That it was made in.

  std::mutex failureMutex;
  Error failure{}; ///< The first since the last finish(). Under failureMutex.
};

bool Copy::Queue::isOver(std::uint64_t number) noexcept {
  if(number == 0 || isForeign() || markOf(number).over.load(std::memory_order_acquire) >= number)
    return true;
  const auto done = copies->isDone(indexOf(number));
  if(done && !*done) // what was asked may be a later copy's mark already: this one was over before
    return markOf(number).over.load(std::memory_order_acquire) >= number;
  conclude(number, done ? Result<void>{} : Result<void>{done.error()});
  return true;
}

Result<void> Copy::Queue::wait(std::uint64_t number) noexcept {
  if(number == 0)
    return {};
  if(const auto own = checkProcess(); !own)
    return own;
  if(markOf(number).over.load(std::memory_order_acquire) < number)
    conclude(number, copies->wait(indexOf(number)));
  const auto outcome = outcomeOf(number);
  if(!outcome) // it may have been only the mark that failed
    copies->settle();
  return outcome;
}

/// A failure is the end of a copy too: nothing more is heard of it.
void Copy::Queue::conclude(std::uint64_t number, const Result<void>& outcome) noexcept {
  Mark& mark = markOf(number);
  if(!outcome) {
    const std::lock_guard lock{failureMutex};
    if(mark.failed < number) {
      mark.failed = number;
      mark.error = outcome.error();
      log(LogLevel::Failure, "a copy into or out of a slot failed", outcome.error());
    }
    if(failure.kind == Errc::None)
      failure = outcome.error();
  }
  std::uint64_t known = mark.over.load(std::memory_order_relaxed);
  while(known < number &&
        !mark.over.compare_exchange_weak(known, number, std::memory_order_release, std::memory_order_relaxed))
    ;
}

Result<void> Copy::Queue::outcomeOf(std::uint64_t number) noexcept {
  const std::lock_guard lock{failureMutex};
  const Mark& mark = markOf(number);
  return mark.failed == number ? Result<void>{mark.error} : Result<void>{};
}

Result<void> Copy::Queue::finish() noexcept {
  if(const auto own = checkProcess(); !own)
    return own;
  const std::uint64_t newest = last.load(std::memory_order_acquire);
  const std::uint64_t oldest = newest > marks.size() ? newest - marks.size() + 1 : 1;
  for(std::uint64_t number = oldest; number <= newest; ++number)
    static_cast<void>(wait(number)); // it is in `failure`
  const std::lock_guard lock{failureMutex};
  return std::exchange(failure, Error{});
}

template <class Start>
Result<std::uint64_t> Copy::Queue::add(std::size_t index, Start start) {
  if(const auto own = checkProcess(); !own)
    return own.error();
  const std::lock_guard lock{mutex};
  const std::uint64_t number = last.load(std::memory_order_relaxed) + 1;
  if(number > marks.size())
    static_cast<void>(wait(number - marks.size())); // whose mark is used again; it is in `failure`
  Slot& slot = slots[index];
  const bool follows = !isOver(slot.last.load(std::memory_order_relaxed));
  const std::uint32_t lane = follows ? slot.lane : nextLane;
  if(const Result<void> started = start(lane, indexOf(number)); !started) {
    Error error = started.error();
    error.slot = static_cast<std::int32_t>(index);
    return error;
  }
  if(!follows)
    nextLane = (nextLane + 1) % lanes;
  slot.lane = lane;
  slot.last.store(number, std::memory_order_release);
  last.store(number, std::memory_order_release);
  return number;
}

Copy::Copy(std::shared_ptr<Queue> queue, std::size_t slot, std::uint64_t number) noexcept
    : m_queue(std::move(queue)), m_slot(slot), m_number(number) {}

bool Copy::done() const noexcept { return !m_queue || m_queue->isOver(m_number); }

Result<void> Copy::wait() const noexcept { return m_queue ? m_queue->wait(m_number) : Result<void>{}; }

RingCompletion Copy::completion() const noexcept {
  if(!m_queue)
    return {};
  return {&m_queue->slots[m_slot], [](void* context) noexcept {
            const auto& slot = *static_cast<Queue::Slot*>(context);
            return slot.queue->isOver(slot.last.load(std::memory_order_acquire));
          }};
}

CopyQueue::CopyQueue(std::shared_ptr<Copy::Queue> queue) noexcept : m_queue(std::move(queue)) {}
CopyQueue::CopyQueue(CopyQueue&&) noexcept = default;

CopyQueue& CopyQueue::operator=(CopyQueue&& other) noexcept {
  CopyQueue taken{std::move(other)};
  m_queue.swap(taken.m_queue);
  return *this;
}

CopyQueue::~CopyQueue() {
  if(m_queue)
    static_cast<void>(m_queue->finish()); // a failure was logged
}

Result<CopyQueue> CopyQueue::make(const RdmaGpuBuffer& buffer, const CopyQueueOptions& options) {
  constexpr const char* call = "CopyQueue::make";
  return guarded(call, [&]() -> Result<CopyQueue> {
    const core::BufferState* state = core::BufferAccess::state(buffer);
    if(!state)
      return libraryError(call, LibraryCode::BufferEmpty);
    if(options.streams == 0 || options.depth == 0)
      return libraryError(call, LibraryCode::CopyQueueEmpty);
    if(state->regions.size() > 1)
      return libraryError(call, LibraryCode::NotCopyable);
    auto queue = std::make_shared<Copy::Queue>(*state, options);
    auto copies =
        queue->region->openCopies({.lanes = queue->lanes, .marks = options.depth, .stream = options.stream});
    if(!copies)
      return copies.error();
    queue->copies = *std::move(copies);
    return CopyQueue{std::move(queue)};
  });
}

Result<Copy> CopyQueue::upload(std::size_t slot, std::span<const std::byte> from, std::size_t offset) {
  constexpr const char* call = "CopyQueue::upload";
  if(!m_queue)
    return libraryError(call, LibraryCode::BufferEmpty);
  Copy::Queue& queue = *m_queue;
  if(const auto checked = core::checkRange(call, queue.layout, slot, offset, from.size()); !checked)
    return checked.error();
  const auto number = queue.add(slot, [&](std::uint32_t lane, std::uint32_t mark) {
    return queue.copies->upload(lane, mark, queue.layout.offset(slot) + offset, from);
  });
  if(!number)
    return number.error();
  return Copy{m_queue, slot, *number};
}

Result<Copy> CopyQueue::download(std::size_t slot, std::span<std::byte> to, std::size_t offset) {
  constexpr const char* call = "CopyQueue::download";
  if(!m_queue)
    return libraryError(call, LibraryCode::BufferEmpty);
  Copy::Queue& queue = *m_queue;
  if(const auto checked = core::checkRange(call, queue.layout, slot, offset, to.size()); !checked)
    return checked.error();
  const auto number = queue.add(slot, [&](std::uint32_t lane, std::uint32_t mark) {
    return queue.copies->download(lane, mark, queue.layout.offset(slot) + offset, to);
  });
  if(!number)
    return number.error();
  return Copy{m_queue, slot, *number};
}

std::optional<PciAddress> core::CopyQueueAccess::gpu(const CopyQueue& queue) noexcept {
  return queue.m_queue ? queue.m_queue->pci : std::nullopt;
}

Result<void> CopyQueue::finish() noexcept { return m_queue ? m_queue->finish() : Result<void>{}; }

} // namespace rdmagpu
