#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct ibv_pd; // libibverbs' types, by name only
struct ibv_mr;

/// Registration of slots with an RDMA NIC, through libibverbs. In a library of its own, rdmagpu::verbs, which
/// is built where rdma-core's headers are.
namespace rdmagpu {

class RdmaGpuBuffer;

/// What a registration allows. The values are ibverbs' own.
enum class Access : std::uint32_t {
  LocalWrite = 1,   ///< The NIC itself writes: receives, and what it reads from elsewhere.
  RemoteWrite = 2,  ///< Needs LocalWrite.
  RemoteRead = 4,   ///< What the NIC sends from needs no bit at all.
  RemoteAtomic = 8, ///< Needs LocalWrite.
};
constexpr Access operator|(Access a, Access b) noexcept {
  return static_cast<Access>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

/// How the NIC reaches the memory.
enum class RegistrationPath : std::uint8_t {
  HostPages,  ///< ibv_reg_mr of memory that the CPU has mapped.
  DmaBuf,     ///< ibv_reg_dmabuf_mr of the memory's dma-buf.
  DataDirect, ///< The same with mlx5dv_reg_dmabuf_mr, past the PCIe function that the NIC's driver uses.
  PeerMemory, ///< ibv_reg_mr of a device pointer, for which a kernel module answers (nvidia_peermem).
};

/// "host-pages", "dma-buf", "data-direct", "peer-memory".
RDMAGPU_API const char* name(RegistrationPath) noexcept;

/// What to do about host pages that a fork() would part from what the NIC uses: the first of the two
/// processes that writes to a page gets another one. ibv_fork_init() prevents that, and so do kernels
/// from 5.12 on, and shared memory, which slots are unless a memfd was forbidden or refused. A GPU's memory
/// is no matter of it.
enum class ForkPolicy : std::uint8_t {
  Leave,   ///< Registers all the same.
  Require, ///< Refuses what a fork would part.
};

struct VerbsOptions {
  Access access = Access::LocalWrite | Access::RemoteWrite | Access::RemoteRead;
  std::optional<std::size_t> slot{}; ///< That slot alone. Empty: all of them, with one key.
  /// That path and no other. Empty: host memory by HostPages; a GPU's by DmaBuf, else by PeerMemory, as the
  /// device's driver takes it.
  std::optional<RegistrationPath> path{};
  /// DataDirect is tried before DmaBuf. Where CPU and GPU have a coherent link it takes exports that are
  /// mapped through PCIe, and DmaBuf takes others (RdmaGpuBufferConfig::pcieMapping). Host memory has no use
  /// for it.
  bool dataDirect = false;
  /// The address of the first byte for the NIC and for remote peers. A multiple of 64 KiB. Empty: what gpuVA
  /// is; where slots have no address, how far into the dma-buf they are.
  std::optional<std::uint64_t> iova{};
  /// Lets the NIC's writes pass one another on the bus. Faster on some machines; a frame is whole when its
  /// completion says so, and not when its last byte is there. Ignored by kernels before 5.7.
  bool relaxedOrdering = false;
  /// Host pages are pinned by nobody, and fetched when the NIC wants them. Needs no RLIMIT_MEMLOCK.
  bool onDemand = false;
  ForkPolicy fork = ForkPolicy::Leave;
};

/// One path that was tried.
struct RegistrationAttempt {
  RegistrationPath path{};
  Error error; ///< Why not, with the errno in `code`; kind None for the one that was taken.
};

/// One line for each: the path, and what became of it. Allocates.
RDMAGPU_API std::string describe(std::span<const RegistrationAttempt>);

/// All slots of a buffer, or one, registered with a protection domain.
///
/// The domain, and the device that it is of, must outlive it. It holds the memory, and may outlive the
/// buffer: the NIC lets go before the memory goes, whichever object goes last. Move-only; empty after a move.
/// Const members may be called from several threads at once. In a forked child it is the parent's: there it
/// deregisters nothing.
class RDMAGPU_API VerbsRegistration {
public:
  VerbsRegistration() noexcept;
  ~VerbsRegistration();
  VerbsRegistration(VerbsRegistration&&) noexcept;
  VerbsRegistration& operator=(VerbsRegistration&&) noexcept;

  /// Registers, or leaves nothing behind. `attempts`, where given, is told every path that was tried, of a
  /// failure too. The Error is that of the first path which did not fail for being unsupported; else of the
  /// last. A dma-buf is exported once for all registrations of all slots, and no descriptor stays open for
  /// them.
  static Result<VerbsRegistration> make(ibv_pd*, const RdmaGpuBuffer&, const VerbsOptions& = {},
                                        std::vector<RegistrationAttempt>* attempts = nullptr);

  bool valid() const noexcept { return m_impl != nullptr; }
  std::uint32_t lkey() const noexcept; ///< 0 when not valid(), as the others.
  std::uint32_t rkey() const noexcept;
  /// Where the NIC, and remote peers with rkey(), find that slot; empty for a slot that is not registered
  /// here. Also what an ibv_sge of that slot has as its address.
  std::optional<std::uint64_t> remoteAddress(std::size_t slot) const noexcept;
  std::uint64_t iova() const noexcept; ///< The address of the first slot that is registered.
  std::size_t size() const noexcept;
  RegistrationPath path() const noexcept;
  /// Every path that was tried; the last one is path().
  std::span<const RegistrationAttempt> attempts() const noexcept;
  /// For calls that want it. Its `addr` is no address where a dma-buf was registered.
  ibv_mr* native() const noexcept;

  /// Deregisters, and drops the memory. What it returns the destructor can only log. After a failure it is as
  /// before: memory windows that are bound, for one, are to be let go first. A destructor that fails keeps
  /// the memory for as long as the process lives: the NIC may still write to it.
  Result<void> deregister() noexcept;

private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
