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

/// What the driver tells of a context that is there: its id, unless it is too old to tell one.
Result<std::uint64_t> ask(api::Context context) noexcept {
  const api::Functions& cuda = loadedDriver();
  std::uint64_t id{};
  unsigned version{};
  const auto asked = cuda.ctxGetId ? cuda.call(0, cuda.ctxGetId, context, &id)
                                   : cuda.call(0, cuda.ctxGetApiVersion, context, &version);
  if(!asked)
    return asked.error();
  return id;
}

} // namespace

Result<void> KnownContext::check() const noexcept {
  if(!handle)
    return {};
  const auto found = ask(handle);
  if(!found)
    return found.error();
  if(*found == id)
    return {};
  const api::Functions& cuda = loadedDriver(); // another context has the handle now
  return cuda.failure(cuda.ctxGetId.symbol(), api::Status::ContextIsDestroyed, 0);
}

Result<KnownContext> know(api::Context context) noexcept {
  if(!context)
    return KnownContext{};
  const auto id = ask(context);
  if(!id)
    return id.error();
  return KnownContext{context, *id};
}

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

Result<void> enter(const KnownContext& context, PushedContext& pushed) noexcept {
  if(const auto process = checkProcess(); !process)
    return process;
  if(const auto there = context.check(); !there)
    return there;
  const api::Functions& cuda = loadedDriver();
  api::Context current{};
  if(const auto got = cuda.call(0, cuda.ctxGetCurrent, &current); !got)
    return got;
  if(current == context.handle)
    return {};
  if(const auto push = cuda.call(0, cuda.ctxPushCurrent, context.handle); !push)
    return push;
  pushed = PushedContext{context.handle};
  return {};
}

bool enterToRelease(const KnownContext& context, PushedContext& pushed) noexcept {
  const auto entered = enter(context, pushed);
  logRelease(entered);
  return entered || !isGone(entered.error());
}

Result<bool> currentIsOn(api::Device device) noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Device current{};
  const api::Status status = cuda.ctxGetDevice(&current);
  if(status == api::Status::InvalidContext) // there is none
    return false;
  if(status != api::Status::Success)
    return cuda.failure(cuda.ctxGetDevice.symbol(), status, 0);
  return current == device;
}

Result<bool> primaryIsActive(api::Device device) noexcept {
  const api::Functions& cuda = loadedDriver();
  unsigned flags{};
  int active{};
  if(!cuda.primaryCtxGetState)
    return false;
  if(const auto told = cuda.call(0, cuda.primaryCtxGetState, device, &flags, &active); !told)
    return told.error();
  return active != 0;
}

Result<void> readFreeBytes(std::uint64_t& free) noexcept {
  const api::Functions& cuda = loadedDriver();
  std::size_t left{};
  std::size_t total{};
  const auto told = cuda.call(0, cuda.memGetInfo, &left, &total);
  free = left;
  return told;
}

Result<KnownContext> ContextSource::own(Keep keep, PrimaryContext& forTheCall) const noexcept {
  const std::lock_guard lock{m_mutex};
  if(m_own.handle)
    return m_own;
  auto retained = retain(m_device);
  if(!retained)
    return retained.error();
  const auto context = know(retained->get().context);
  if(!context)
    return context.error();
  if(keep == Keep::No) {
    forTheCall = *std::move(retained);
    return context;
  }
  m_retained = *std::move(retained);
  m_own = *context;
  return context;
}

Result<void> ContextSource::checkOwn() const noexcept {
  const std::lock_guard lock{m_mutex};
  return m_own.check();
}

Result<void> ContextSource::enter(Keep keep, PrimaryContext& retained, PushedContext& pushed) const noexcept {
  if(const auto process = checkProcess(); !process)
    return process;
  if(const auto there = checkOwn(); !there)
    return there;
  const auto onDevice = currentIsOn(m_device);
  if(!onDevice)
    return onDevice.error();
  if(*onDevice)
    return {};
  const auto context = own(keep, retained);
  if(!context)
    return context.error();
  return cuda::enter(*context, pushed);
}

Result<KnownContext> ContextSource::currentOrOwn() const noexcept {
  api::Context context{};
  const auto got = run(Keep::Yes, [&] {
    const api::Functions& cuda = loadedDriver();
    return cuda.call(0, cuda.ctxGetCurrent, &context);
  });
  if(!got)
    return got.error();
  return know(context);
}

Result<KnownContext> ContextSource::lasting() const noexcept {
  {
    const std::lock_guard lock{m_mutex};
    if(m_own.handle)
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
