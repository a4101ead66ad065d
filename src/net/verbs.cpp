#include <base/align.hpp>
#include <base/guarded.hpp>
#include <base/log.hpp>
#include <net/verbs_paths.hpp>
#include <os/error.hpp>
#include <os/process.hpp>
#include <rdmagpu/verbs.hpp>

#include <infiniband/verbs.h>

#include <limits>
#include <utility>

namespace rdmagpu {
namespace {

constexpr const char* makeCall = "VerbsRegistration::make";

Error refusal(LibraryCode code, std::uint64_t asked = 0, std::uint64_t limit = 0) noexcept {
  return libraryError(makeCall, code, asked, limit);
}

Result<void> checkAccess(Access access) {
  constexpr auto writes = static_cast<std::uint32_t>(Access::RemoteWrite | Access::RemoteAtomic);
  constexpr auto local = static_cast<std::uint32_t>(Access::LocalWrite);
  constexpr auto all = writes | local | static_cast<std::uint32_t>(Access::RemoteRead);
  const auto bits = static_cast<std::uint32_t>(access);
  if((bits & ~all) != 0 || ((bits & writes) != 0 && (bits & local) == 0))
    return refusal(LibraryCode::AccessConflict);
  return {};
}

/// What can be said before anything is asked of the device.
Result<net::Range> rangeOf(ibv_pd* domain, const RdmaGpuBuffer& buffer, const VerbsOptions& options) {
  if(!domain)
    return refusal(LibraryCode::DomainNull);
  if(!buffer.valid())
    return refusal(LibraryCode::BufferEmpty);
  if(options.slot && *options.slot >= buffer.slotCount())
    return refusal(LibraryCode::SlotOutOfRange, *options.slot, buffer.slotCount());
  if(const auto checked = checkAccess(options.access); !checked)
    return checked.error();
  if(buffer.facts().regionCount != 1 && !options.slot)
    return refusal(LibraryCode::RegionPerSlot);
  const std::size_t stride = buffer.facts().slotStride;
  const std::size_t first = options.slot.value_or(0);
  const net::Range range{.domain = domain,
                         .buffer = buffer,
                         .options = options,
                         .firstSlot = first,
                         .bytes = options.slot ? stride : stride * buffer.slotCount(),
                         .address = addressBits(buffer.handoff(first))};
  if(options.iova && (*options.iova % gpuPageBytes != 0 ||
                      *options.iova > std::numeric_limits<std::uint64_t>::max() - range.bytes))
    return refusal(LibraryCode::IovaInvalid, *options.iova);
  return range;
}

Result<std::vector<RegistrationPath>> pathsOf(const net::Range& range) {
  const HandoffKind kind = rdmagpu::kind(range.buffer.handoff(range.firstSlot));
  auto paths = net::pathsFor(kind, range.options);
  if(!paths.empty())
    return paths;
  return refusal(range.options.onDemand ? LibraryCode::OnDemandNotHost : LibraryCode::NoSuchPath);
}

/// A device tells how much one registration can be, and answers EINVAL or worse to more.
Result<void> checkSize(const net::Range& range) {
  ibv_device_attr device{};
  if(const int code = ibv_query_device(range.domain->context, &device); code != 0)
    return os::error(Origin::Verbs, "ibv_query_device", code);
  if(device.max_mr_size != 0 && range.bytes > device.max_mr_size)
    return refusal(LibraryCode::RegistrationTooLarge, range.bytes, device.max_mr_size);
  return {};
}

Result<void> checkFork(const net::Range& range) {
  const bool pages = kind(range.buffer.handoff(range.firstSlot)) == HandoffKind::HostPointer;
  if(range.options.fork == ForkPolicy::Leave || !pages || range.buffer.facts().memfd)
    return {};
  switch(ibv_is_fork_initialized()) {
  case IBV_FORK_ENABLED:
  case IBV_FORK_UNNEEDED:
    return {};
  case IBV_FORK_DISABLED:
    break;
  }
  return refusal(LibraryCode::ForkUnsafe);
}

/// The one to tell of several: what a driver did not offer at all is the least of it.
Error mostTelling(std::span<const RegistrationAttempt> attempts) noexcept {
  for(const RegistrationAttempt& attempt : attempts) {
    const Errc kind = attempt.error.kind;
    if(kind != Errc::Unsupported && kind != Errc::TooOld && kind != Errc::NotFound)
      return attempt.error;
  }
  return attempts.back().error;
}

} // namespace

const char* name(RegistrationPath path) noexcept {
  switch(path) {
  case RegistrationPath::HostPages:
    return "host-pages";
  case RegistrationPath::DmaBuf:
    return "dma-buf";
  case RegistrationPath::DataDirect:
    return "data-direct";
  case RegistrationPath::PeerMemory:
    return "peer-memory";
  }
  return "?";
}

std::string describe(std::span<const RegistrationAttempt> attempts) {
  std::string text;
  for(const RegistrationAttempt& attempt : attempts) {
    text += name(attempt.path);
    text += ": ";
    text += attempt.error.kind == Errc::None ? "registered" : attempt.error.message();
    text += '\n';
  }
  return text;
}

struct VerbsRegistration::Impl {
  std::shared_ptr<const void> memory; ///< Goes last.
  std::vector<RegistrationAttempt> attempts;
  std::uint64_t process{};
  std::uint64_t iova{};
  std::size_t bytes{};
  std::size_t stride{};
  std::size_t firstSlot{};
  ibv_mr* region{}; ///< Null: none, or let go.

  /// Whether there is nothing to let go, or it was done.
  Result<void> letGo() noexcept {
    // A child's call would end the parent's registration: the kernel knows one open device, not two
    // processes.
    if(!region || process != os::currentProcess())
      return {};
    if(const int code = ibv_dereg_mr(region); code != 0)
      return os::error(Origin::Verbs, "ibv_dereg_mr", code, bytes);
    region = nullptr;
    return {};
  }
};

VerbsRegistration::VerbsRegistration() noexcept = default;
VerbsRegistration::VerbsRegistration(VerbsRegistration&&) noexcept = default;

VerbsRegistration::~VerbsRegistration() {
  if(const auto ended = deregister(); !ended) {
    log(LogLevel::Failure, "a NIC did not let go of its slots, whose memory is kept", ended.error());
    static_cast<void>(m_impl.release());
  }
}

VerbsRegistration& VerbsRegistration::operator=(VerbsRegistration&& other) noexcept {
  if(this != &other) {
    const VerbsRegistration old{std::move(*this)};
    m_impl = std::move(other.m_impl);
  }
  return *this;
}

Result<VerbsRegistration> VerbsRegistration::make(ibv_pd* domain, const RdmaGpuBuffer& buffer,
                                                  const VerbsOptions& options,
                                                  std::vector<RegistrationAttempt>* attempts) {
  return guarded(makeCall, [&]() -> Result<VerbsRegistration> {
    if(attempts)
      attempts->clear();
    const auto range = rangeOf(domain, buffer, options);
    if(!range)
      return range.error();
    const auto paths = pathsOf(*range);
    if(!paths)
      return paths.error();
    if(const auto fits = checkSize(*range); !fits)
      return fits.error();
    if(const auto safe = checkFork(*range); !safe)
      return safe.error();
    const auto process = os::identifyProcess();
    if(!process)
      return process.error();

    VerbsRegistration made;
    made.m_impl = std::make_unique<Impl>(); // before the NIC knows the memory: what holds it cannot fail then
    Impl& impl = *made.m_impl;
    impl.memory = buffer.keepAlive(range->firstSlot);
    impl.process = *process;
    impl.bytes = range->bytes;
    impl.stride = buffer.facts().slotStride;
    impl.firstSlot = range->firstSlot;
    impl.attempts.reserve(paths->size());
    if(attempts)
      attempts->reserve(paths->size());
    for(const RegistrationPath path : *paths) {
      const auto registered = net::registerBy(path, *range);
      impl.attempts.push_back({path, registered ? Error{} : registered.error()});
      if(attempts)
        attempts->push_back(impl.attempts.back());
      if(registered) {
        impl.region = registered->region;
        impl.iova = registered->iova;
        return made;
      }
    }
    return mostTelling(impl.attempts);
  });
}

std::uint32_t VerbsRegistration::lkey() const noexcept { return m_impl ? m_impl->region->lkey : 0; }
std::uint32_t VerbsRegistration::rkey() const noexcept { return m_impl ? m_impl->region->rkey : 0; }
std::uint64_t VerbsRegistration::iova() const noexcept { return m_impl ? m_impl->iova : 0; }
std::size_t VerbsRegistration::size() const noexcept { return m_impl ? m_impl->bytes : 0; }
ibv_mr* VerbsRegistration::native() const noexcept { return m_impl ? m_impl->region : nullptr; }

std::optional<std::uint64_t> VerbsRegistration::remoteAddress(std::size_t slot) const noexcept {
  if(!m_impl || slot < m_impl->firstSlot || slot - m_impl->firstSlot >= m_impl->bytes / m_impl->stride)
    return {};
  return m_impl->iova + (slot - m_impl->firstSlot) * m_impl->stride;
}

RegistrationPath VerbsRegistration::path() const noexcept {
  return m_impl ? m_impl->attempts.back().path : RegistrationPath{};
}

std::span<const RegistrationAttempt> VerbsRegistration::attempts() const noexcept {
  return m_impl ? std::span<const RegistrationAttempt>{m_impl->attempts}
                : std::span<const RegistrationAttempt>{};
}

Result<void> VerbsRegistration::deregister() noexcept {
  if(!m_impl)
    return {};
  if(const auto done = m_impl->letGo(); !done)
    return done;
  m_impl.reset();
  return {};
}

} // namespace rdmagpu
