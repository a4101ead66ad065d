#include <backend/cpu_copies.hpp>
#include <backend/cuda_host_pin.hpp>
#include <backend/registry.hpp>
#include <base/library_error.hpp>
#include <os/host_pages.hpp>
#include <os/memory_budget.hpp>
#include <os/numa.hpp>
#include <os/process.hpp>
#include <os/udmabuf.hpp>
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/poison.hpp>

#include <cstring>
#include <utility>

namespace rdmagpu::backend::host_fallback {
namespace {

class HostRegion final : public Region {
public:
  HostRegion(os::HostPages pages, std::uint64_t process, bool scrub) noexcept
      : m_pages(std::move(pages)), m_process(process), m_scrub(scrub) {}

  Result<void> pin(const RdmaGpuBufferConfig& config) {
    auto pin = cuda::HostPin::pin(m_pages.data(), m_pages.size(), config);
    if(pin)
      m_pin = *std::move(pin);
    else if(config.host.gpuPin == GpuPin::Require)
      return pin.error();
    else
      m_pinError = pin.error();
    return {};
  }

  ~HostRegion() override {
    // The memory is shared with forked children: one that runs this destructor must not wipe the
    // parent's slots.
    if(m_scrub && os::currentProcess() == m_process)
      std::memset(m_pages.data(), 0, m_pages.size());
  }
  HostRegion(HostRegion&&) = delete;

  void* address(std::size_t offset) const noexcept override { return m_pages.data() + offset; }
  Handoff handoff(std::size_t offset) const noexcept override { return HostPointer{address(offset)}; }

  Result<void> upload(std::size_t offset, std::span<const std::byte> from) const override {
    if(!from.empty())
      std::memcpy(m_pages.data() + offset, from.data(), from.size());
    return {};
  }
  Result<void> download(std::size_t offset, std::span<std::byte> to) const override {
    if(!to.empty())
      std::memcpy(to.data(), m_pages.data() + offset, to.size());
    return {};
  }

  Result<std::uint64_t> checksum(std::size_t offset, std::size_t bytes) const override {
    return rdmagpu::checksum({m_pages.data() + offset, bytes});
  }
  Result<void> poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const override {
    rdmagpu::poison({m_pages.data() + offset, bytes}, seed);
    return {};
  }
  Result<void> clear(std::size_t offset, std::size_t bytes) const override {
    std::memset(m_pages.data() + offset, 0, bytes);
    return {};
  }

  Result<ExportedFd> exportDmaBuf(std::size_t offset, std::size_t bytes) const override {
    if(m_pages.fd() < 0)
      return libraryError("", LibraryCode::NotMemfd, bytes);
    auto fd = os::exportMemfd(m_pages.fd(), offset, bytes);
    if(!fd)
      return fd.error();
    return ExportedFd{.fd = *std::move(fd), .offset = 0, .exact = true};
  }

  Result<os::Fd> share() const override {
    if(m_pages.fd() < 0)
      return libraryError("RdmaGpuBuffer::share", LibraryCode::NotMemfd, m_pages.size());
    return os::duplicate(m_pages.fd());
  }

  Result<std::unique_ptr<Copies>> openCopies(const CopiesRequest& request) const override {
    if(request.stream)
      return libraryError("CopyQueue::make", LibraryCode::StreamOfOtherGpu);
    return std::unique_ptr<Copies>{std::make_unique<CpuCopies>(*this)};
  }

  void describe(BufferFacts& facts) const override {
    facts.device = "host memory";
    facts.pageBytes = m_pages.huge() ? os::hugePageBytes : os::pageBytes();
    facts.hugePageBytes = m_pages.huge() ? m_pages.size() : 0;
    facts.committedBytes += m_pages.size();
    facts.residentBytes += m_pages.size(); // populated, or the creation would have failed
    facts.lockedBytes += m_pages.locked() ? m_pages.size() : 0;
    facts.lockError = m_pages.lockError();
    facts.pinnedBy = m_pin ? PinnedBy::Cuda : PinnedBy::Nobody;
    facts.pinError = m_pinError;
    if(m_pin)
      facts.directForGpu = m_pin->isOnIntegratedGpu() ? Answer::Yes : Answer::No;
    facts.numaNode = m_pages.node();
    facts.memfd = m_pages.fd() >= 0;
    facts.tolerated.insert(facts.tolerated.end(), m_pages.tolerated().begin(), m_pages.tolerated().end());
  }

private:
  os::HostPages m_pages;
  std::unique_ptr<cuda::HostPin> m_pin; // after the pages, which are unpinned before they go
  Error m_pinError{};
  std::uint64_t m_process;
  bool m_scrub;
};

class HostDevice final : public Device {
public:
  explicit HostDevice(std::uint64_t process) noexcept : m_process(process) {}

  Result<RegionPtr> allocate(const RegionRequest& request) override {
    const RdmaGpuBufferConfig& config = request.config;
    os::HostPagesRequest pages{.bytes = request.bytes, .options = config.host};
    if(config.peer)
      pages.peerNode = os::nodeOf(*config.peer);
    auto memory = os::HostPages::allocate(pages);
    if(!memory)
      return memory.error();
    // zeroFill needs no more: the kernel hands out fresh pages cleared.
    auto region = std::make_shared<HostRegion>(*std::move(memory), m_process, config.scrubOnDestroy);
    if(config.host.gpuPin != GpuPin::Off) {
      if(const auto pinned = region->pin(config); !pinned)
        return pinned.error();
    }
    return RegionPtr{std::move(region)};
  }

  std::size_t slotGranularity() const noexcept override { return sharedPageBytes(); }

  Result<void> mayExport(const RdmaGpuBufferConfig& config) const override {
    return config.host.forbidMemfd ? libraryError("", LibraryCode::NotMemfd) : os::checkUdmabuf();
  }

  std::optional<Budget> budget(const RdmaGpuBufferConfig& config) const override {
    if(config.host.hugePages == HugePages::Require) {
      const auto pool = os::hugePageBudget(); // set aside for users like this: no reserve
      return pool ? std::optional{Budget{*pool, LibraryCode::HugePagesExhausted}} : std::nullopt;
    }
    const auto free = os::memoryBudget();
    return free ? std::optional{Budget{lessReserve(*free), LibraryCode::BudgetExceeded}} : std::nullopt;
  }

private:
  std::uint64_t m_process;
};

class HostBackend final : public Backend {
public:
  RdmaGpuApi api() const noexcept override { return RdmaGpuApi::HostFallback; }
  HandoffKind handoffKind() const noexcept override { return HandoffKind::HostPointer; }
  BackendInfo probe() const override {
    return {.api = api(), .available = true, .devices = {{.name = "host memory", .pci = {}}}};
  }
  Result<DevicePtr> open(const RdmaGpuBufferConfig&) const override {
    const auto process = os::identifyProcess();
    if(!process)
      return process.error();
    return DevicePtr{std::make_shared<HostDevice>(*process)};
  }
  Result<RegionPtr> attach(os::Fd fd, std::size_t bytes) const override {
    const auto process = os::identifyProcess();
    if(!process)
      return process.error();
    auto memory = os::HostPages::adopt(std::move(fd), bytes, PageLock::Try);
    if(!memory)
      return memory.error();
    return RegionPtr{std::make_shared<const HostRegion>(*std::move(memory), *process, false)};
  }
};

} // namespace

const Backend& instance() noexcept {
  static const HostBackend backend;
  return backend;
}

} // namespace rdmagpu::backend::host_fallback
