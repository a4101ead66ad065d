#pragma once
#include <rdmagpu/dma_buf.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/gpu_selector.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/proof.hpp>
#include <rdmagpu/vulkan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu {

namespace core {
struct BufferState;
struct BufferAccess;
} // namespace core

/// How the memory is allocated. Values 0 to 4 are ossia score's; append only.
enum class RdmaGpuApi : std::uint8_t {
  None,
  Cuda,   ///< CUDA virtual memory management; gpuVA is a CUdeviceptr.
  Vulkan, ///< VK_NV_external_memory_rdma; gpuVA is a VkRemoteAddressNV, opaque the VkBuffer. An allocation
          ///< for each slot. Never taken by Auto.
  D3D12,  ///< NvAPI committed RDMA buffer; gpuVA is its BAR1 address.
  HostFallback, ///< Host pages, 64 KiB aligned; gpuVA is a host pointer.
  Hip,          ///< ROCm device memory; gpuVA is a device pointer.
  LevelZero,    ///< Level Zero device memory; gpuVA is a device pointer.
  VulkanDmaBuf, ///< VK_EXT_external_memory_dma_buf; gpuVA is null, export instead. Never taken by Auto.
  PciP2p,       ///< Linux p2pdma memory of a PCI device; gpuVA is its CPU mapping. Never taken by Auto.
  Auto = 255,   ///< The best that works here; see RdmaGpuBuffer::selection().
};

/// The name used on the command line and in JSON: "auto", "host", "cuda", ...; "none" for None.
RDMAGPU_API const char* name(RdmaGpuApi) noexcept;
/// The API of that name, whether or not this build has the backend; nullopt for any other text.
RDMAGPU_API std::optional<RdmaGpuApi> apiNamed(std::string_view) noexcept;

/// One slot of a buffer: a view, valid while the buffer or any export or
/// registration of that slot lives. Copy it freely.
struct RdmaGpuSlot {
  void* gpuVA{}; ///< The address the peer's SDK wants; see RdmaGpuApi. 64 KiB aligned, but for Vulkan: see
                 ///< BufferFacts::pageBytes.
  std::size_t size{}; ///< Bytes usable: frameBytes rounded up to the slot's stride.
  void* opaque{};     ///< The backend's own; null for HostFallback.
};

/// Whether host pages are locked into memory with mlock.
enum class PageLock : std::uint8_t {
  Try,     ///< Lock if the limits allow; facts().lockError says why not.
  Require, ///< A page that cannot be locked fails the creation.
  Off,
};

/// Whether host pages are 2 MiB huge pages from the kernel's reserved pool (vm.nr_hugepages).
enum class HugePages : std::uint8_t {
  Off,
  Try,     ///< Use them if the pool has enough; facts().hugePageBytes says what was got.
  Require, ///< Too small a pool fails the creation.
};

/// Whether CUDA's driver pins host pages, so that a GPU's copy engine reads and writes them by itself:
/// uploads are several times faster, and CopyQueue's copies go on while the program does something else. Uses
/// the context that is current on that GPU in make(), which must then outlive the memory; else the primary
/// one, which takes half a gigabyte of GPU memory until the slots go.
enum class GpuPin : std::uint8_t {
  Off,
  Try,     ///< Pin where there is a GPU of CUDA; facts().pinError says why not.
  Require, ///< Pages that cannot be pinned fail the creation.
};

/// Options of HostFallback.
struct HostMemory {
  PageLock lock{PageLock::Try}; ///< Huge pages are never swapped: they are not locked, and need not be.
  HugePages hugePages{HugePages::Off};
  int numaNode = -1; ///< Bind the pages to this node. -1: the peer's node if that is known, else no binding.
  bool forbidMemfd = false; ///< Anonymous pages only; such slots can be neither exported nor shared.
  /// For the copy engine of the GPU that the config names. Auto takes Off for Try where that GPU is
  /// integrated: the system's memory is its own, and pinned it is the direct path (facts().directForGpu).
  GpuPin gpuPin{GpuPin::Off};
};

/// How CUDA's memory is allocated. A peer can be handed either; some capture drivers take only cuMemAlloc's.
enum class CudaMemory : std::uint8_t {
  Auto, ///< Vmm where the driver offers it with RDMA, else MemAlloc; which is tried, too, where peers turn
        ///< out not to reach Vmm's memory and `rdma` is not Off.
  Vmm,  ///< Virtual memory management. Needs no context, and can be shared with another process.
  MemAlloc, ///< cuMemAlloc. Lives in the context that is current on that GPU in make(), which must then
            ///< outlive the memory; else in the primary one.
};

/// Whether a dma-buf of CUDA's memory is mapped through PCIe, past the coherent link between CPU and GPU
/// (CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE), for peers that want that: a ConnectX NIC then registers it
/// as data-direct, and in no other way. Only machines with such a link offer it.
enum class PcieMapping : std::uint8_t {
  Off,     ///< The driver's default mapping.
  Try,     ///< Else the default mapping; DmaBuf::pcieError() says why.
  Require, ///< An export that cannot be mapped like that fails.
};

/// Whether peers must be able to reach a GPU's memory.
enum class GpuRdma : std::uint8_t {
  Require, ///< Memory that the driver does not call reachable fails the creation.
  Try,     ///< facts().rdmaCapable says which it is.
  Off,     ///< Only the GPU, and what copies for it, will use the memory. BAR1 does not limit it.
};

/// What to allocate. The first seven fields are ossia score's, in its order.
/// Only the fields that `api` needs are read.
struct RdmaGpuBufferConfig {
  RdmaGpuApi api{RdmaGpuApi::None};
  std::uint32_t slotCount{};
  std::size_t frameBytes{};
  const void* cuda{};      ///< Accepted for score; never dereferenced.
  int cudaDevice{0};       ///< Device ordinal for Cuda, Hip and LevelZero, unless `gpu` names one.
  const void* vulkanCtx{}; ///< Vulkan, VulkanDmaBuf, alsoVulkan: the caller's VulkanContext. Null: ours.
  void* d3d12Device{};     ///< D3D12: an ID3D12Device; a reference is taken. Null: ours.
  // From here on rdmagpu's own; every default is what most callers want.
  GpuSelector gpu{}; ///< Chooses the GPU by PCI address, UUID or LUID instead of by ordinal.
  /// Auto: the handoffs that the peer takes. Memory whose addresses are not among them goes as a dma-buf
  /// where DmaBuf is: make() exports it, and passes over what cannot be exported.
  Handoffs accepts{};
  /// Where the peer is. Host memory is taken on its NUMA node. Where `gpu` is empty and `cudaDevice` 0, a GPU
  /// is taken that can do what is asked, if there is one: not an integrated one, and as `rdma` says one that
  /// peers reach. Of several the nearest: the one behind the most of the peer's PCI bridges, counted from the
  /// root; of those, one on its NUMA node; of those, the first. facts().pci tells which it is. An address
  /// that this machine has no device at is NotFound.
  std::optional<PciAddress> peer{};
  bool zeroFill{false}; ///< Hand the slots out cleared. Costs nothing where the system promises that anyway
                        ///< (host memory).
  bool scrubOnDestroy{false}; ///< Overwrite the slots with zeros before the memory is given back.
  bool ignoreBudget{false};   ///< Try even if make() would refuse what maxSlots() says is too much.
  HostMemory host{};          ///< HostFallback only.
  CudaMemory cudaMemory{CudaMemory::Auto}; ///< Cuda only.
  /// Cuda only: the slots are buffers of Vulkan's, too, on the same GPU; see RdmaGpuBuffer::vulkanBuffer().
  /// Takes Vmm's memory. Auto then takes Cuda or nothing.
  bool alsoVulkan{false};
  PcieMapping pcieMapping{PcieMapping::Off}; ///< Cuda only: of exports.
  GpuRdma rdma{GpuRdma::Require};            ///< Cuda only.
  VulkanOptions vulkan{};                    ///< Vulkan, VulkanDmaBuf, alsoVulkan.
};

/// Who has pinned the pages for DMA. Locked pages (mlock) stay resident but may still be moved by
/// the kernel; pages pinned by a driver may not.
enum class PinnedBy : std::uint8_t { Nobody, Peer, Cuda, Hip, LevelZero };

/// What a buffer is, as the system and driver reported it; nothing here is inferred from a limit or a flag.
struct BufferFacts {
  RdmaGpuApi api{};
  std::string device{};            ///< The GPU's name; for host memory the machine's.
  std::optional<PciAddress> pci{}; ///< Of the GPU or other device; empty for host memory.
  std::uint32_t slotCount{};
  std::size_t frameBytes{};     ///< As asked.
  std::size_t requestedBytes{}; ///< slotCount times frameBytes.
  std::size_t committedBytes{}; ///< What the system or driver really set aside.
  std::size_t slotStride{};     ///< From one slot to the next; also each slot's usable size.
  std::size_t regionCount{};    ///< Driver allocations; 1 where one carries all slots.
  std::size_t pageBytes{}; ///< Of the pages that the slots lie in. Vulkan: what the address of every slot is
                           ///< a multiple of, at most 64 KiB; where a slot starts is the driver's choice.
  std::size_t hugePageBytes{}; ///< Bytes that lie in huge pages.
  std::size_t residentBytes{}; ///< Bytes that were in memory when the creation ended.
  std::size_t lockedBytes{};   ///< Bytes locked with mlock.
  Error lockError{};           ///< Why pages are not locked; kind None when they are, or were not to be.
  PinnedBy pinnedBy{};
  Error pinError{};  ///< Why a GPU's driver has not pinned them; kind None when it has, or was not to.
  int numaNode = -1; ///< Where the first page was found; -1 unknown.
  bool memfd{};      ///< Host pages of a memfd: they can be exported and shared.
  std::uint64_t bar1Bytes{}; ///< The window through which peers reach the GPU's memory; 0 unknown or none.
                             ///< Vulkan: the heap of the memory that is RDMA-capable.
  /// Of it, before the creation; where nobody can tell, all that this process does not hold reachable itself.
  /// Empty where it covers all of the GPU's memory, and so cannot run out before that does.
  std::optional<std::uint64_t> bar1FreeBytes{};
  /// How many slots of this stride that has room for, less a reserve of an eighth: through a small window
  /// peers reach a shallow ring only. Empty like bar1FreeBytes, and where no peer has to reach the memory.
  std::optional<std::uint32_t> bar1Slots{};
  std::uint64_t p2pmemBytes{};     ///< PciP2p: the device's peer-to-peer memory, all of it.
  std::uint64_t p2pmemFreeBytes{}; ///< Of it, before the creation.
  Answer directForGpu{};           ///< A GPU uses these very bytes. No: it must copy them into its own memory
                                   ///< first. Unknown for host memory that no GPU's driver has pinned.
  Answer rdmaCapable{};            ///< As the driver reports it; Unknown where there is none to ask. PciP2p:
                                   ///< whether the device's driver has published the memory to others.
  bool writesNeedFlush{};          ///< Its own GPU sees a peer's writes only after flushPeerWrites().
  Answer writesOrderedForAll{};   ///< Whether other GPUs (grantAccess()) see them in order without that, too.
                                  ///< Unknown: not memory of CUDA's.
  CudaMemory cudaMemory{};        ///< Cuda: the kind it is, never Auto.
  Error cudaMemoryReason{};       ///< Cuda: why Auto took MemAlloc; kind None otherwise.
  bool alsoVulkan{};              ///< Cuda: the slots are also buffers of Vulkan's.
  Answer syncMemops{};            ///< Whether CUDA's synchronous copies and memsets of these slots end before
                                  ///< they return (SYNC_MEMOPS). Unknown: not a matter of this memory.
  Error syncMemopsError{};        ///< Why not; kind None when they do, or it was not tried.
  std::vector<Error> tolerated{}; ///< Failures that the creation survived, each with its call.
};

/// "auto", "vmm", "mem-alloc".
RDMAGPU_API const char* name(CudaMemory) noexcept;
/// "nobody", "peer", "cuda", "hip", "level-zero".
RDMAGPU_API const char* name(PinnedBy) noexcept;

/// A backend that Auto passed over, and why.
struct Rejected {
  RdmaGpuApi api{};
  Error error;
};

class SharedBuffer;

/// Owns `slotCount` equally sized pieces of memory that a network card or a
/// capture card can reach by DMA.
///
/// Move-only; not valid() after a move. Const members may be called from several threads at once;
/// others need exclusive access to this object. Distinct buffers are independent.
/// After fork() the child's copy frees nothing of the parent's, whatever the child does with it.
class RDMAGPU_API RdmaGpuBuffer {
public:
  RdmaGpuBuffer() noexcept;
  ~RdmaGpuBuffer();
  RdmaGpuBuffer(RdmaGpuBuffer&&) noexcept;
  RdmaGpuBuffer& operator=(RdmaGpuBuffer&&) noexcept;

  /// Allocates every slot or none. Needs no current context on this thread and
  /// leaves the thread's current context as it was.
  static Result<RdmaGpuBuffer> make(const RdmaGpuBufferConfig&);

  /// `make` in score's shape: replaces what this object held. On failure the
  /// object is not valid() and error() says why.
  bool create(const RdmaGpuBufferConfig&);
  const Error& error() const noexcept; ///< Of the last create(); kind None after success.

  /// How many slots of `config.frameBytes` fit the memory that is free now, less a reserve of an
  /// eighth (no reserve of a pool of huge pages, nor of PciP2p's memory, which must have them in one piece).
  /// make() refuses more unless `ignoreBudget` is set; on a GPU whose BAR1 covers all of its memory it leaves
  /// that to the driver, which refuses what is not free. What is free of a GPU's memory NVIDIA's management
  /// library tells; without it the context that is current on that GPU, or its primary one where somebody has
  /// retained that, else all counts as free.
  /// `slotCount` is not read. Under Auto the answer is that of the first backend that is available.
  static Result<std::uint32_t> maxSlots(const RdmaGpuBufferConfig& config);

  bool valid() const noexcept;
  RdmaGpuApi backend() const noexcept; ///< None when not valid().
  std::size_t slotCount() const noexcept;
  RdmaGpuSlot slot(std::size_t i) const noexcept; ///< Empty slot when out of range.
  /// Where slot `i` starts within its region, and so within the fd of exportRegion(). 0 when out of range.
  std::uint64_t slotOffset(std::size_t i) const noexcept;

  /// One dma-buf for all slots; slot i lies at slotOffset(i) in it. Later calls return further
  /// descriptors of the same dma-buf. A peer that gets it can reach every slot.
  Result<DmaBuf> exportRegion() const&;
  /// A dma-buf that reaches that slot and nothing else; of VulkanDmaBuf all slots, with this one at offset().
  Result<DmaBuf> exportSlot(std::size_t slot) const&;
  Result<DmaBuf> exportRegion() const&& = delete;
  Result<DmaBuf> exportSlot(std::size_t) const&& = delete;

  /// What a peer's SDK wants for a slot, with its kind; monostate when out of range.
  Handoff handoff(std::size_t slot) const noexcept;
  /// The slot as a buffer of Vulkan's; nullopt for memory that is none, and when out of range.
  std::optional<VulkanBuffer> vulkanBuffer(std::size_t slot) const noexcept;
  /// What this buffer is. A buffer that is not valid() has the facts of nothing: all zero.
  const BufferFacts& facts() const noexcept;
  /// How far this buffer has been proven so far, by what was done with it here. verify() goes further.
  Proof proof() const noexcept;
  /// Auto only: each backend tried before this one, with the Error that ruled it out.
  std::span<const Rejected> selection() const noexcept;

  /// Copies into or out of a slot, through the device's copy engine where there is one; returns
  /// when done. A range that passes the end of the slot is refused and copies nothing.
  Result<void> upload(std::size_t slot, std::span<const std::byte> from, std::size_t offset = 0) const;
  Result<void> download(std::size_t slot, std::span<std::byte> to, std::size_t offset = 0) const;
  /// Makes what a peer wrote visible to the consumer, GPUs of grantAccess() too; a no-op where it is ordered.
  Result<void> flushPeerWrites() const;

  /// The checksum() of `bytes` bytes of a slot from `offset` on, the same on every backend, computed where
  /// the memory lies: a frame in GPU memory is compared with one on the CPU without being copied. Fast where
  /// `offset` is a multiple of 16. A range that passes the end of the slot is refused.
  /// CUDA: this and poison() run kernels, which the driver compiles when the first one is needed. They run in
  /// the memory's own context (MemAlloc), or in the one that is current on that GPU at the first of these
  /// calls, which must then outlive the memory; else in the primary one. Unsupported if the driver cannot
  /// compile them.
  Result<std::uint64_t> checksum(std::size_t slot, std::size_t bytes, std::size_t offset = 0) const;
  /// Fills all of a slot with what poison() makes of the seed; returns when done.
  Result<void> poison(std::size_t slot, std::uint64_t seed) const;
  /// Fills all of a slot with zeros; returns when done.
  Result<void> clear(std::size_t slot) const;

  /// CUDA's Vmm: lets kernels and copies of another GPU use the slots, at the same addresses, for as long as
  /// the memory is there. For the GPU that it is on there is nothing to do. GPUs that do not reach each
  /// other's memory (cuDeviceCanAccessPeer) are Unsupported; so is MemAlloc, which is opened for one context
  /// at a time by who has that context (cuCtxEnablePeerAccess). It does not change what peers of other makers
  /// reach; what such a peer wrote that GPU sees after flushPeerWrites(), whatever facts() say of its own.
  Result<void> grantAccess(const GpuSelector& gpu) const;

  /// Offers the memory to a second process; see SharedBuffer.
  Result<SharedBuffer> share() const;
  /// Maps the memory that another process offered through a connected Unix-domain socket (see
  /// SharedBuffer::send). Receives one message; blocks as the socket does. The slots are the same
  /// memory: what one process writes the other reads. Page locking is tried for this process anew.
  /// CUDA (measured, driver 580): the driver no longer calls memory RDMA-capable in the process that
  /// attached it, and facts() says so; export and register slots in the process that made them. Nor
  /// can that process share() it on.
  static Result<RdmaGpuBuffer> attach(int unixSocket);
  /// The same, from a descriptor that this process inherited (see SharedBuffer::token).
  static Result<RdmaGpuBuffer> attach(std::string_view token);

  /// Keeps the region that holds slot `i`, and the device it came from, alive; null when out of range.
  std::shared_ptr<const void> keepAlive(std::size_t i) const noexcept;

  /// Gives up this object's share; idempotent. The region, with all slots in it,
  /// is freed when its last holder (buffer, export, registration, copy in flight,
  /// keep-alive) is gone. Does not wait for DMA: stop the peer first.
  void destroy() noexcept;

private:
  friend struct core::BufferAccess;
  std::unique_ptr<core::BufferState> m_state;
  Error m_error{};
};

/// A buffer on its way to another process: a descriptor of the memory and what it holds.
///
/// Move-only. Holds its own descriptor, so the buffer may go before it was received. Only memory
/// that the system can pass between processes can be shared (host memory: memfd slots; CUDA: Vmm).
class RDMAGPU_API SharedBuffer {
public:
  SharedBuffer() noexcept = default;
  ~SharedBuffer();
  SharedBuffer(SharedBuffer&&) noexcept;
  SharedBuffer& operator=(SharedBuffer&&) noexcept;

  /// Sends one message with the descriptor through a connected Unix-domain socket. The receiver
  /// calls RdmaGpuBuffer::attach(socket).
  Result<void> send(int unixSocket) const;
  /// Makes the descriptor survive exec() and describes it in printable text without spaces, for a
  /// child's command line or environment. The child calls RdmaGpuBuffer::attach(token), which takes
  /// the inherited descriptor over. Every child started meanwhile inherits it too.
  Result<std::string> token() const;
  int fd() const noexcept { return m_fd; } ///< -1 when empty.

private:
  friend struct core::BufferAccess;
  RdmaGpuApi m_api{};
  int m_fd = -1;
  std::uint32_t m_slotCount{};
  std::uint64_t m_frameBytes{};
  std::uint64_t m_slotStride{};
  std::uint64_t m_regionBytes{};
};

} // namespace rdmagpu
