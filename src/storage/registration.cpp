#include <base/library_error.hpp>
#include <base/log.hpp>
#include <core/buffer_state.hpp>
#include <os/process.hpp>
#include <storage/registration.hpp>

#include <new>
#include <utility>

namespace rdmagpu::storage {
namespace {

constexpr const char* makeCall = "CuFileRegistration::make";

/// Whether cuFile has said that the program did wrong, and not that it cannot.
bool isMistake(const Error& error) noexcept {
  return error.origin == Origin::CuFile &&
         error.code == static_cast<std::int64_t>(api::OpError::MemoryAlreadyRegistered);
}

} // namespace

Result<std::shared_ptr<Registration>> Registration::make(const RdmaGpuBuffer& buffer,
                                                         const CuFileOptions& options) {
  if(!buffer.valid())
    return libraryError(makeCall, LibraryCode::BufferEmpty);
  if(options.use > CuFileUse::Off)
    return libraryError(makeCall, LibraryCode::ValueUnknown, static_cast<std::uint64_t>(options.use));
  if(buffer.facts().regionCount != 1)
    return libraryError(makeCall, LibraryCode::RegionPerSlot);
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  auto made = std::make_shared<Registration>();
  made->m_memory = core::BufferAccess::state(buffer)->regionOf(0);
  made->m_gpu = buffer.facts().pci;
  made->m_use = options.use;
  made->m_process = *process;
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    made->m_slots.push_back({.offset = static_cast<std::size_t>(buffer.slotOffset(i)),
                             .bytes = buffer.slot(i).size,
                             .cpu = static_cast<std::byte*>(cpuAddress(buffer.handoff(i)))});
  if(made->m_slots.front().cpu)
    return made; // direct I/O on their addresses
  const auto registered =
      options.use == CuFileUse::Off ? Result<void>{} : made->registerWith(makeCall, buffer);
  if(registered && made->m_cuFile)
    return made;
  if(!registered && (options.use == CuFileUse::Require || isMistake(registered.error())))
    return registered.error();
  made->m_path = StoragePath::HostSlot;
  made->m_reason = registered ? Error{} : registered.error();
  if(const auto staging = made->staging(); !staging)
    return staging.error();
  return made;
}

Result<void> Registration::registerWith(const char* call, const RdmaGpuBuffer& buffer) {
  if(buffer.backend() != RdmaGpuApi::Cuda)
    return libraryError(call, LibraryCode::PeerCannotAddress);
  const auto driver = openCuFile();
  if(!driver)
    return driver.error();
  m_facts = driver->facts;
  if(!driver->route.usable)
    return driver->route.reason;
  const api::Functions& functions = *driver->functions;
  const std::size_t bytes = m_slots.size() * buffer.facts().slotStride;
  const void* const start = base();
  auto body = [&] { return functions.call(bytes, functions.bufRegister, start, bytes, 0); };
  if(const auto registered = m_memory->runCurrent(body); !registered)
    return registered;
  m_registered = true;
  m_cuFile = &functions;
  m_path = driver->route.path;
  m_reason = driver->route.reason;
  return {};
}

bool Registration::isForked() const noexcept { return m_process != os::currentProcess(); }

Registration::~Registration() {
  const auto ended = letGo();
  if(ended)
    return;
  log(LogLevel::Failure, "cuFile did not let go of slots, whose memory is kept", ended.error());
  static_cast<void>(new (std::nothrow) backend::RegionPtr{m_memory});
}

/// Nobody else uses it.
Result<void> Registration::letGo() noexcept {
  // A forked child has cuFile's state as it was, and none of its threads and descriptors.
  if(!m_registered || isForked())
    return {};
  const void* const start = base();
  auto body = [&] { return m_cuFile->call(0, m_cuFile->bufDeregister, start); };
  if(const auto done = m_memory->runCurrent(body); !done)
    return done;
  m_registered = false;
  return {};
}

Result<void> Registration::deregister() noexcept {
  if(isForked()) // whose lock a thread of the parent's may have held
    return {};
  const std::lock_guard lock{m_inUse};
  if(const auto done = letGo(); !done)
    return done;
  m_ended = true;
  return {};
}

Result<Staging*> Registration::staging() const {
  const std::lock_guard lock{m_stagingMutex};
  if(!m_staging) {
    auto made = Staging::make(*m_memory, m_slots.front().bytes, m_gpu);
    if(!made)
      return made.error();
    m_staging = *std::move(made);
  }
  return m_staging.get();
}

Result<void> Registration::checkProcess(const char* call) const noexcept {
  if(!m_slots.front().cpu && isForked())
    return libraryError(call, LibraryCode::ForkedChild);
  return {};
}

std::shared_lock<std::shared_mutex> Registration::use() const {
  std::shared_lock lock{m_inUse};
  if(m_ended)
    lock.unlock();
  return lock;
}

} // namespace rdmagpu::storage
