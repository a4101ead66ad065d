#include <backend/cuda_context.hpp>

namespace rdmagpu::backend::cuda {
namespace {

Result<PrimaryContext> retain(api::Device device) noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Context context{};
  if(const auto retained = cuda.call(0, cuda.primaryCtxRetain, &context, device); !retained)
    return retained.error();
  return PrimaryContext{Retained{context, device}};
}

bool isGone(const Error& error) noexcept {
  const auto status = static_cast<api::Status>(error.code);
  return error.origin == Origin::Cuda &&
         (status == api::Status::InvalidContext || status == api::Status::ContextIsDestroyed);
}

/// An event can be made in any context that is there, and waits for nothing.
Result<void> tryCurrent() noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Event event{};
  if(const auto made = cuda.call(0, cuda.eventCreate, &event, api::EventFlags::DisableTiming); !made)
    return made;
  return cuda.call(0, cuda.eventDestroy, event);
}

} // namespace

void PrimaryContextTraits::close(Retained retained) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(0, cuda.primaryCtxRelease, retained.device));
}

void PushedTraits::close(api::Context) noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Context popped{};
  logRelease(cuda.call(0, cuda.ctxPopCurrent, &popped));
}

Result<void> enter(api::Context context, PushedContext& pushed) noexcept {
  if(const auto process = checkProcess(); !process)
    return process;
  const api::Functions& cuda = loadedDriver();
  api::Context current{};
  if(const auto got = cuda.call(0, cuda.ctxGetCurrent, &current); !got)
    return got;
  if(current == context)
    return {};
  if(const auto push = cuda.call(0, cuda.ctxPushCurrent, context); !push)
    return push;
  pushed = PushedContext{context};
  return {};
}

bool enterToRelease(api::Context context, PushedContext& pushed) noexcept {
  const auto entered = enter(context, pushed);
  const auto usable = entered ? tryCurrent() : entered;
  logRelease(usable);
  return usable || !isGone(usable.error());
}

Result<bool> ContextSource::currentIsOnDevice() const noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Device current{};
  const api::Status status = cuda.ctxGetDevice(&current);
  if(status == api::Status::InvalidContext) // there is none
    return false;
  if(status != api::Status::Success)
    return cuda.failure(cuda.ctxGetDevice.symbol(), status, 0);
  return current == m_device;
}

Result<api::Context> ContextSource::own(Keep keep, PrimaryContext& forTheCall) const noexcept {
  const std::lock_guard lock{m_mutex};
  if(m_own)
    return m_own;
  auto retained = retain(m_device);
  if(!retained)
    return retained.error();
  const api::Context context = retained->get().context;
  if(keep == Keep::No) {
    forTheCall = *std::move(retained);
    return context;
  }
  m_retained = *std::move(retained);
  m_own = context;
  return context;
}

Result<void> ContextSource::enter(Keep keep, PrimaryContext& retained, PushedContext& pushed) const noexcept {
  if(const auto process = checkProcess(); !process)
    return process;
  const auto onDevice = currentIsOnDevice();
  if(!onDevice)
    return onDevice.error();
  if(*onDevice)
    return {};
  const auto context = own(keep, retained);
  if(!context)
    return context.error();
  const api::Functions& cuda = loadedDriver();
  if(const auto push = cuda.call(0, cuda.ctxPushCurrent, *context); !push)
    return push;
  pushed = PushedContext{*context};
  return {};
}

Result<api::Context> ContextSource::currentOrOwn() const noexcept {
  api::Context context{};
  const auto got = run(Keep::Yes, [&] {
    const api::Functions& cuda = loadedDriver();
    return cuda.call(0, cuda.ctxGetCurrent, &context);
  });
  if(!got)
    return got.error();
  return context;
}

Result<api::Context> ContextSource::lasting() const noexcept {
  {
    const std::lock_guard lock{m_mutex};
    if(m_own)
      return m_own;
  }
  return currentOrOwn();
}

Result<void> ContextSource::settle() const noexcept {
  const auto context = currentOrOwn();
  if(!context)
    return context.error();
  const std::lock_guard lock{m_mutex};
  m_own = *context;
  return {};
}

} // namespace rdmagpu::backend::cuda
