#include <backend/cuda_copies.hpp>
#include <base/library_error.hpp>

#include <cstdint>

namespace rdmagpu::backend::cuda {
namespace {

Result<void> checkDevice(const KnownContext& context, api::Device device) noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Device found{};
  const auto asked = runIn(context, [&] { return cuda.call(0, cuda.ctxGetDevice, &found); });
  if(!asked || found == device)
    return asked;
  return libraryError("CopyQueue::make", LibraryCode::StreamOfOtherGpu);
}

/// Where the copies are to be made: in the stream's context, if it has one of its own.
Result<KnownContext> contextFor(const ContextSource& contexts, api::Device device, api::Stream stream) {
  const auto own = contextOf(stream);
  if(!own)
    return own.error();
  if(!own->handle)
    return contexts.lasting();
  if(const auto checked = checkDevice(*own, device); !checked)
    return checked.error();
  return own;
}

/// Leaves to a context that has gone what went with it.
template <class Owner>
void forget(std::vector<Owner>& owners) noexcept {
  for(Owner& owner : owners)
    static_cast<void>(owner.release());
}

} // namespace

void StreamTraits::close(api::Stream stream) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(0, cuda.streamDestroy, stream));
}

void EventTraits::close(api::Event event) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(0, cuda.eventDestroy, event));
}

Result<OwnedEvent> makeEvent() noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Event event{};
  if(const auto created = cuda.call(0, cuda.eventCreate, &event, api::EventFlags::DisableTiming); !created)
    return created.error();
  return OwnedEvent{event};
}

Result<bool> isEventDone(const KnownContext& context, api::Event event) noexcept {
  if(const auto process = checkProcess(); !process)
    return process.error();
  PushedContext pushed;
  if(context.handle) {
    if(const auto entered = enter(context, pushed); !entered)
      return entered.error();
  }
  const api::Functions& cuda = loadedDriver();
  const api::Status status = cuda.eventQuery(event);
  if(status != api::Status::Success && status != api::Status::NotReady)
    return cuda.failure(cuda.eventQuery.symbol(), status, 0);
  return status == api::Status::Success;
}

Result<KnownContext> contextOf(api::Stream stream) noexcept {
  if(reinterpret_cast<std::uintptr_t>(stream) <= api::perThreadStream) // numbers in a handle's place
    return KnownContext{};
  const api::Functions& cuda = loadedDriver();
  api::Context context{};
  if(const auto got = cuda.call(0, cuda.streamGetCtx, stream, &context); !got)
    return got.error();
  return know(context);
}

Result<std::unique_ptr<Copies>> CudaCopies::open(const ContextSource& contexts, api::Device device,
                                                 api::DevicePtr base, const CopiesRequest& request) {
  if(const auto process = checkProcess(); !process)
    return process.error();
  const auto stream = static_cast<api::Stream>(request.stream ? request.stream->value : nullptr);
  if(reinterpret_cast<std::uintptr_t>(stream) == api::perThreadStream)
    return libraryError("CopyQueue::make", LibraryCode::StreamPerThread);
  const auto context = contextFor(contexts, device, stream);
  if(!context)
    return context.error();
  auto copies = std::make_unique<CudaCopies>(*context, base, request);
  const auto prepared = runIn(*context, [&] { return copies->prepare(request); });
  if(!prepared)
    return prepared.error();
  return std::unique_ptr<Copies>{std::move(copies)};
}

CudaCopies::CudaCopies(const KnownContext& context, api::DevicePtr base, const CopiesRequest& request)
    : m_context(context), m_base(base) {
  m_own.reserve(request.lanes);
  m_lanes.reserve(request.lanes);
  m_marks.reserve(request.marks);
}

Result<void> CudaCopies::prepare(const CopiesRequest& request) noexcept {
  const api::Functions& cuda = loadedDriver();
  if(request.stream)
    m_lanes.push_back(static_cast<api::Stream>(request.stream->value));
  while(m_lanes.size() < request.lanes) {
    api::Stream stream{};
    if(const auto made = cuda.call(0, cuda.streamCreate, &stream, api::StreamFlags::NonBlocking); !made)
      return made;
    m_own.emplace_back(stream);
    m_lanes.push_back(stream);
  }
  for(std::uint32_t i = 0; i < request.marks; ++i) {
    auto event = makeEvent();
    if(!event)
      return event.error();
    m_marks.push_back(*std::move(event));
  }
  return {};
}

CudaCopies::~CudaCopies() {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  PushedContext pushed;
  if(!enterToRelease(m_context, pushed)) {
    forget(m_marks);
    forget(m_own);
    return;
  }
  bool certain = true;
  for(const OwnedEvent& event : m_marks) {
    const auto waited = cuda.call(0, cuda.eventSynchronize, event.get());
    logRelease(waited);
    certain = certain && waited;
  }
  if(!certain) // the memory may be gone after this
    settle();
  m_marks.clear();
  m_own.clear();
}

Result<void> CudaCopies::upload(std::uint32_t lane, std::uint32_t mark, std::size_t offset,
                                std::span<const std::byte> from) {
  const api::Functions& cuda = loadedDriver();
  return runIn(m_context, [&]() -> Result<void> {
    const void* const source = from.data();
    if(!from.empty()) {
      const auto started =
          cuda.call(from.size(), cuda.memcpyHtoDAsync, m_base + offset, source, from.size(), m_lanes[lane]);
      if(!started)
        return started;
    }
    return this->mark(lane, mark);
  });
}

Result<void> CudaCopies::download(std::uint32_t lane, std::uint32_t mark, std::size_t offset,
                                  std::span<std::byte> to) {
  const api::Functions& cuda = loadedDriver();
  return runIn(m_context, [&]() -> Result<void> {
    void* const target = to.data();
    if(!to.empty()) {
      const auto started =
          cuda.call(to.size(), cuda.memcpyDtoHAsync, target, m_base + offset, to.size(), m_lanes[lane]);
      if(!started)
        return started;
    }
    return this->mark(lane, mark);
  });
}

Result<void> CudaCopies::mark(std::uint32_t lane, std::uint32_t mark) const noexcept {
  const api::Functions& cuda = loadedDriver();
  const auto recorded = cuda.call(0, cuda.eventRecord, m_marks[mark].get(), m_lanes[lane]);
  if(!recorded) // the copy is under way, and nobody could tell when it is done
    logRelease(cuda.call(0, cuda.streamSynchronize, m_lanes[lane]));
  return recorded;
}

Result<bool> CudaCopies::isDone(std::uint32_t mark) const noexcept {
  return isEventDone(m_context, m_marks[mark].get());
}

void CudaCopies::settle() const noexcept {
  if(inForkedChild())
    return;
  logRelease(runIn(m_context, [&]() -> Result<void> {
    const api::Functions& cuda = loadedDriver();
    for(const api::Stream lane : m_lanes)
      logRelease(cuda.call(0, cuda.streamSynchronize, lane));
    return {};
  }));
}

Result<void> CudaCopies::wait(std::uint32_t mark) const noexcept {
  const api::Functions& cuda = loadedDriver();
  return runIn(m_context, [&] { return cuda.call(0, cuda.eventSynchronize, m_marks[mark].get()); });
}

} // namespace rdmagpu::backend::cuda
