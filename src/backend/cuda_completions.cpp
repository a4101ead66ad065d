#include <rdmagpu/cuda_completions.hpp>

#include <backend/cuda_copies.hpp>
#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace rdmagpu {

namespace cuda = backend::cuda;

struct CudaCompletions::Slots {
  struct Slot {
    Slot() noexcept = default;
    Slot(Slot&&) = delete;
    ~Slot() { drop(); }

    /// Gives the own event back, unless its context has gone.
    void drop() noexcept {
      if(!own || cuda::inForkedChild())
        return;
      cuda::PushedContext pushed;
      if(!cuda::enterToRelease(ownsContext, pushed))
        static_cast<void>(own.release());
      own.reset();
    }

    cuda::OwnedEvent own; ///< Made when a stream is first named.
    cuda::KnownContext ownsContext;
    cuda::api::Event asked{};   ///< Its own, or the caller's.
    cuda::KnownContext context; ///< To ask in; null: in any.
  };
  explicit Slots(std::size_t count) : all(count) {}

  std::vector<Slot> all;
};

namespace {

Result<cuda::KnownContext> currentContext() noexcept {
  if(const auto process = cuda::checkProcess(); !process)
    return process.error();
  const cuda::api::Functions& driver = cuda::loadedDriver();
  cuda::api::Context context{};
  if(const auto got = driver.call(0, driver.ctxGetCurrent, &context); !got)
    return got.error();
  return cuda::know(context);
}

Error atSlot(Error error, std::uint32_t slot) noexcept {
  error.slot = static_cast<std::int32_t>(slot);
  return error;
}

template <class Slot>
bool isDone(void* context) noexcept {
  const auto& slot = *static_cast<const Slot*>(context);
  const auto done = cuda::isEventDone(slot.context, slot.asked);
  if(done)
    return *done;
  log(LogLevel::Failure, "work on a slot failed, or cannot be watched", done.error());
  return true;
}

/// Marks what the stream has been given, with the slot's own event, made anew if it is of another context.
template <class Slot>
Result<void> record(Slot& slot, cuda::api::Stream stream) noexcept {
  auto context = cuda::contextOf(stream);
  if(context && !context->handle)
    context = currentContext();
  if(!context)
    return context.error();
  if(!context->handle)
    return libraryError("CudaCompletions::after", LibraryCode::ContextNotCurrent);
  const cuda::api::Functions& driver = cuda::loadedDriver();
  return cuda::runIn(*context, [&]() -> Result<void> {
    if(!slot.own || slot.ownsContext != *context) {
      auto event = cuda::makeEvent();
      if(!event)
        return event.error();
      slot.drop();
      slot.own = *std::move(event);
      slot.ownsContext = *context;
    }
    slot.asked = slot.own.get();
    slot.context = *context;
    return driver.call(0, driver.eventRecord, slot.asked, stream);
  });
}

} // namespace

CudaCompletions::CudaCompletions(std::unique_ptr<Slots> slots) noexcept : m_slots(std::move(slots)) {}
CudaCompletions::~CudaCompletions() = default;
CudaCompletions::CudaCompletions(CudaCompletions&&) noexcept = default;
CudaCompletions& CudaCompletions::operator=(CudaCompletions&&) noexcept = default;

Result<CudaCompletions> CudaCompletions::make(std::uint32_t slotCount) {
  constexpr const char* call = "CudaCompletions::make";
  return guarded(call, [&]() -> Result<CudaCompletions> {
    if(slotCount == 0)
      return libraryError(call, LibraryCode::SlotCountZero);
    if(const auto opened = cuda::openDriver(); !opened)
      return opened.error();
    return CudaCompletions{std::make_unique<Slots>(slotCount)};
  });
}

Result<RingCompletion> CudaCompletions::after(std::uint32_t index, CudaStream stream) {
  const std::size_t count = m_slots ? m_slots->all.size() : 0;
  if(index >= count)
    return libraryError("CudaCompletions::after", LibraryCode::SlotOutOfRange, index, count);
  Slots::Slot& slot = m_slots->all[index];
  if(const auto recorded = record(slot, static_cast<cuda::api::Stream>(stream.value)); !recorded)
    return atSlot(recorded.error(), index);
  return RingCompletion{&slot, &isDone<Slots::Slot>};
}

Result<RingCompletion> CudaCompletions::after(std::uint32_t index, CudaEvent event) {
  const std::size_t count = m_slots ? m_slots->all.size() : 0;
  if(index >= count)
    return libraryError("CudaCompletions::after", LibraryCode::SlotOutOfRange, index, count);
  const auto context = currentContext();
  if(!context)
    return atSlot(context.error(), index);
  if(!event.value)
    return atSlot(libraryError("CudaCompletions::after", LibraryCode::EventNull), index);
  Slots::Slot& slot = m_slots->all[index];
  slot.asked = static_cast<cuda::api::Event>(event.value);
  slot.context = *context;
  return RingCompletion{&slot, &isDone<Slots::Slot>};
}

} // namespace rdmagpu
