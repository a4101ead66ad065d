#pragma once
#include <backend/canaries.hpp>
#include <backend/copies.hpp>
#include <base/library_error.hpp>
#include <os/fd.hpp>
#include <rdmagpu/backends.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/vulkan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

/// What a backend is to the rest of the library: three small interfaces. A Region holds its Device,
/// a Device its driver context; whoever holds a Region holds all that it needs.
namespace rdmagpu::backend {

/// An exported dma-buf, and where the range that was asked for starts in it.
struct ExportedFd {
  os::Fd fd;
  std::uint64_t offset{};
  void (*close)(int) noexcept = nullptr; ///< How the driver wants descriptors of it closed; null: close(2).
  bool exact{};                          ///< The range is all that it reaches.
  bool pcieMapped{};
  Error pcieError{}; ///< Why not, where that was tried.
};

/// What a Region runs with a context current.
class CurrentBody {
public:
  template <class Body>
  CurrentBody(Body& body) noexcept
      : m_body(&body), m_call([](void* b) { return (*static_cast<Body*>(b))(); }) {}
  Result<void> operator()() const { return m_call(m_body); }

private:
  void* m_body;
  Result<void> (*m_call)(void*);
};

/// One driver allocation. Freed on destruction; a failure to free goes to the log sink. Offsets are
/// in bytes from its start and in range: the caller has checked them. Const members may be called
/// from several threads at once.
class Region {
public:
  virtual ~Region() = default;

  /// What gpuVA is at that offset; null where this memory has no address.
  virtual void* address(std::size_t offset) const noexcept = 0;
  virtual void* opaque() const noexcept { return nullptr; }
  virtual Handoff handoff(std::size_t offset) const noexcept = 0;
  /// What Vulkan has there, but for the size.
  virtual std::optional<VulkanBuffer> vulkanBuffer(std::size_t) const noexcept { return std::nullopt; }

  virtual Result<void> upload(std::size_t offset, std::span<const std::byte> from) const = 0;
  virtual Result<void> download(std::size_t offset, std::span<std::byte> to) const = 0;
  virtual Result<void> flushPeerWrites() const { return {}; }
  /// Calls `body`, which makes calls of another library of the driver's maker on this memory, with the
  /// context current in which copies of it are made. `body` does not allocate.
  virtual Result<void> runCurrent(const CurrentBody& body) const { return body(); }

  /// What checksum() says of those bytes, computed without moving them.
  virtual Result<std::uint64_t> checksum(std::size_t offset, std::size_t bytes) const = 0;
  /// Writes what poison() writes, from `offset` on. Whole slots: both are multiples of slotGranularity().
  virtual Result<void> poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const = 0;
  virtual Result<void> clear(std::size_t offset, std::size_t bytes) const = 0;

  /// A dma-buf that reaches [offset, offset + bytes). The base answers NotExportable. An Error with an
  /// empty call gets the name of the member that the caller used.
  virtual Result<ExportedFd> exportDmaBuf(std::size_t offset, std::size_t bytes) const;
  /// A descriptor with which another process can map all of it. The base answers NotShareable.
  virtual Result<os::Fd> share() const;

  /// Lets another GPU of the same API use it. The base answers NotGrantable.
  virtual Result<void> grantAccess(const GpuSelector&) const;

  /// Copies that go on by themselves, in this region, which outlives them. The base answers NotCopyable.
  virtual Result<std::unique_ptr<Copies>> openCopies(const CopiesRequest&) const;

  /// Canaries in slots that the CPU cannot address, in this region, which outlives them. The base answers
  /// NotProvable.
  virtual Result<std::unique_ptr<Canaries>> openCanaries(std::span<const CanarySlot>) const;

  /// Fills in what this region knows of itself; sizes that are the buffer's own are already there.
  virtual void describe(BufferFacts&) const = 0;
};

using RegionPtr = std::shared_ptr<const Region>;

struct RegionRequest {
  std::size_t bytes{}; ///< A whole number of slot strides.
  const RdmaGpuBufferConfig& config;
};

struct Budget {
  std::uint64_t bytes{};
  LibraryCode exceeded{}; ///< What to answer to a request for more.
};

/// Free memory less a reserve of an eighth: filling a machine or a BAR to the brim harms others on it.
constexpr std::uint64_t lessReserve(std::uint64_t free) noexcept { return free - free / 8; }

/// What peers pin, and dma-bufs are cut in: the larger of a GPU's page and the system's. Slots in memory that
/// can be shared start on multiples of it.
std::size_t sharedPageBytes() noexcept;

/// A device, opened: allocates regions.
class Device {
public:
  virtual ~Device() = default;
  virtual Result<RegionPtr> allocate(const RegionRequest&) = 0;
  /// Slots start on multiples of this, at least 64 KiB.
  virtual std::size_t slotGranularity() const noexcept = 0;
  /// Whether each slot needs a region of its own, because the driver promises an address for each allocation
  /// only.
  virtual bool oneRegionPerSlot() const noexcept { return false; }
  /// Why what such a config allocates cannot be exported as a dma-buf, as far as that is known before.
  virtual Result<void> mayExport(const RdmaGpuBufferConfig&) const { return {}; }
  /// How much can be allocated now without harm; nullopt when nobody tells.
  virtual std::optional<Budget> budget(const RdmaGpuBufferConfig&) const = 0;
  /// Whether nothing but the driver's own memory limits what is allocated, so that it refuses by itself what
  /// does not fit and budget() need not be asked before, which may be slow.
  virtual bool driverKeepsBudget() const noexcept { return false; }
};

using DevicePtr = std::shared_ptr<Device>;

/// One way of allocating. Lives as long as the process; has no state but what it loads once.
class Backend {
public:
  virtual RdmaGpuApi api() const noexcept = 0;
  /// What its slots' handoffs are.
  virtual HandoffKind handoffKind() const noexcept = 0;
  /// What exists here. Creates nothing on any device.
  virtual BackendInfo probe() const = 0;
  virtual Result<DevicePtr> open(const RdmaGpuBufferConfig&) const = 0;
  /// Maps what another process shared with Region::share(), on whichever device it lies. The base answers
  /// NotShareable.
  virtual Result<RegionPtr> attach(os::Fd, std::size_t bytes) const;
  /// What the driver says of memory there, whoever allocated it; nullopt when it does not know it, or this
  /// process does not use the driver. Loads and initialises none. A range that starts in an allocation and
  /// passes its end is an Error. Of PinnedHost the kernel knows the rest. The base answers nullopt.
  virtual Result<std::optional<MemoryFacts>> inspect(std::uintptr_t begin, std::size_t bytes) const;

protected:
  ~Backend() = default;
};

} // namespace rdmagpu::backend
