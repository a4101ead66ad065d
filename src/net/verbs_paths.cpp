#include <base/library_error.hpp>
#include <net/verbs_paths.hpp>
#include <os/error.hpp>
#include <os/library.hpp>
#include <os/memory_lock.hpp>

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>

namespace rdmagpu::net {
namespace {

static_assert(static_cast<int>(Access::LocalWrite) == IBV_ACCESS_LOCAL_WRITE);
static_assert(static_cast<int>(Access::RemoteWrite) == IBV_ACCESS_REMOTE_WRITE);
static_assert(static_cast<int>(Access::RemoteRead) == IBV_ACCESS_REMOTE_READ);
static_assert(static_cast<int>(Access::RemoteAtomic) == IBV_ACCESS_REMOTE_ATOMIC);

/// The smallest page of any kernel that has RDMA.
constexpr std::uint64_t pageBytes = 4096;

/// mlx5dv.h has these since rdma-core 54 only.
using RegisterDataDirect = ibv_mr*(ibv_pd*, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                   int fd, int access, int mlx5Access);
constexpr int dataDirectAccess = 1; // MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT

int accessBits(const VerbsOptions& options) noexcept {
  return static_cast<int>(options.access) | (options.relaxedOrdering ? IBV_ACCESS_RELAXED_ORDERING : 0);
}

/// What the code that errno has is of a registration whose arguments were right.
Error refusal(const char* call, int code, std::uint64_t asked, std::uint64_t limit = 0) noexcept {
  Error error = os::error(Origin::Verbs, call, code, asked, limit);
  switch(code) {
  case EFAULT: // memory that the kernel cannot pin
  case EINVAL:
    error.kind = Errc::Unsupported;
    break;
  case EIO:
  case ENODEV:
    error.kind = Errc::Lost;
    break;
  case 0: // a provider that forgot to say
    error.kind = Errc::Internal;
    break;
  default:
    break;
  }
  return error;
}

Result<Registered> registerPages(const char* call, const Range& range, int access) {
  const std::uint64_t iova = range.options.iova.value_or(range.address);
  errno = 0;
  // ibv_reg_mr() is a macro for this where a flag may be one that old kernels lack: it leaves that out for
  // them.
  ibv_mr* region = ibv_reg_mr_iova2(range.domain, reinterpret_cast<void*>(range.address), range.bytes, iova,
                                    static_cast<unsigned>(access)); // the kernel gets a number
  if(!region)
    return refusal(call, errno, range.bytes);
  return Registered{region, iova};
}

/// Pinned pages count against RLIMIT_MEMLOCK: whether that was it the kernel does not say.
Result<Registered> registerHostPages(const Range& range) {
  const int onDemand = range.options.onDemand ? IBV_ACCESS_ON_DEMAND : 0;
  auto registered = registerPages(onDemand ? "ibv_reg_mr (IBV_ACCESS_ON_DEMAND)" : "ibv_reg_mr", range,
                                  accessBits(range.options) | onDemand);
  if(!registered && registered.error().code == ENOMEM && !onDemand) {
    const auto limit = os::pinnableBytes();
    if(limit && *limit < range.bytes)
      return refusal("ibv_reg_mr (RLIMIT_MEMLOCK)", ENOMEM, range.bytes, *limit);
  }
  return registered;
}

/// One dma-buf serves every NIC and every slot. Where all slots are too much for one, a slot gets its own.
struct Exported {
  DmaBuf dmaBuf;
  std::uint64_t offset{}; ///< Of what is to be registered, within the descriptor.
};

Result<Exported> exportRange(const Range& range) {
  if(range.buffer.facts().regionCount == 1) {
    auto region = range.buffer.exportRegion();
    if(region) {
      const std::uint64_t offset = region->offset() + range.buffer.slotOffset(range.firstSlot);
      return Exported{*std::move(region), offset};
    }
    if(!range.options.slot)
      return region.error();
  }
  auto slot = range.buffer.exportSlot(range.firstSlot);
  if(!slot)
    return slot.error();
  const std::uint64_t offset = slot->offset();
  return Exported{*std::move(slot), offset};
}

template <class Call>
Result<Registered> registerDmaBuf(const char* name, const Range& range, Call call) {
  auto exported = exportRange(range);
  if(!exported)
    return exported.error();
  const std::uint64_t offset = exported->offset;
  // Both must lie at the same place of their page; without an address the dma-buf's own does as well.
  const std::uint64_t natural =
      range.address ? range.address - range.address % pageBytes + offset % pageBytes : offset;
  const std::uint64_t iova = range.options.iova.value_or(natural);
  if((iova - offset) % pageBytes != 0)
    return libraryError(name, LibraryCode::IovaApart, iova % pageBytes, offset % pageBytes);
  errno = 0;
  ibv_mr* region = call(offset, iova, exported->dmaBuf.fd());
  if(!region)
    return refusal(name, errno, range.bytes);
  return Registered{region, iova}; // the descriptor is closed: the kernel holds what it stands for
}

Result<Registered> registerPlainDmaBuf(const Range& range) {
  return registerDmaBuf(
      "ibv_reg_dmabuf_mr", range, [&](std::uint64_t offset, std::uint64_t iova, int fd) noexcept {
        return ibv_reg_dmabuf_mr(range.domain, offset, range.bytes, iova, fd, accessBits(range.options));
      });
}

Result<Registered> registerDataDirect(const Range& range) {
  constexpr const char* call = "mlx5dv_reg_dmabuf_mr";
  auto library = os::Library::open("libmlx5.so.1");
  if(!library)
    return library.error();
  void* symbol = library->find(call);
  if(!symbol)
    return libraryError(call, LibraryCode::DriverTooOld);
  auto* function = reinterpret_cast<RegisterDataDirect*>(symbol); // what a symbol table gives has no type
  return registerDmaBuf(call, range, [&](std::uint64_t offset, std::uint64_t iova, int fd) {
    return function(range.domain, offset, range.bytes, iova, fd, accessBits(range.options), dataDirectAccess);
  });
}

std::vector<RegistrationPath> knownPaths(HandoffKind kind) {
  switch(kind) {
  case HandoffKind::HostPointer:
    return {RegistrationPath::HostPages, RegistrationPath::DmaBuf, RegistrationPath::DataDirect};
  case HandoffKind::PciMapping:
    return {RegistrationPath::DataDirect, RegistrationPath::DmaBuf, RegistrationPath::HostPages};
  case HandoffKind::CudaPointer:
  case HandoffKind::HipPointer:
  case HandoffKind::LevelZeroPointer:
    return {RegistrationPath::DataDirect, RegistrationPath::DmaBuf, RegistrationPath::PeerMemory};
  case HandoffKind::VulkanRemoteAddress:
  case HandoffKind::NvApiRdmaAddress:
  case HandoffKind::DmaBuf:
    return {RegistrationPath::DataDirect, RegistrationPath::DmaBuf};
  case HandoffKind::None:
    return {};
  }
  return {};
}

} // namespace

std::vector<RegistrationPath> pathsFor(HandoffKind kind, const VerbsOptions& options) {
  std::vector<RegistrationPath> paths = knownPaths(kind);
  std::erase_if(paths, [&](RegistrationPath path) {
    if(options.onDemand && path != RegistrationPath::HostPages)
      return true; // a dma-buf's driver decides by itself, and no GPU has pages that can be fetched
    if(options.path)
      return path != *options.path;
    if(path == RegistrationPath::DataDirect)
      return !options.dataDirect || kind == HandoffKind::HostPointer;
    return path == RegistrationPath::DmaBuf && kind == HandoffKind::HostPointer;
  });
  return paths;
}

Result<Registered> registerBy(RegistrationPath path, const Range& range) {
  switch(path) {
  case RegistrationPath::HostPages:
    return registerHostPages(range);
  case RegistrationPath::DmaBuf:
    return registerPlainDmaBuf(range);
  case RegistrationPath::DataDirect:
    return registerDataDirect(range);
  case RegistrationPath::PeerMemory:
    return registerPages("ibv_reg_mr (device pointer)", range, accessBits(range.options));
  }
  return libraryError("VerbsRegistration::make", LibraryCode::ValueUnknown);
}

} // namespace rdmagpu::net
