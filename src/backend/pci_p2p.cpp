#include <backend/cpu_copies.hpp>
#include <backend/pci_p2p.hpp>
#include <backend/registry.hpp>
#include <base/library_error.hpp>
#include <os/host_pages.hpp>
#include <os/mapping.hpp>
#include <os/numa.hpp>
#include <os/p2pmem.hpp>
#include <os/pci.hpp>
#include <os/process.hpp>
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/poison.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace rdmagpu::backend::pci_p2p {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";

/// What there is to know of a device before slots lie on it.
struct Place {
  PciAddress pci;
  os::P2pmem memory;
  int node = -1;
};

Answer published(const os::P2pmem& memory) noexcept { return memory.published ? Answer::Yes : Answer::No; }

std::string nameOf(const os::P2pmem& memory) {
  return memory.driver.empty() ? "PCI device" : "PCI device of " + memory.driver;
}

class P2pmemRegion final : public Region {
public:
  P2pmemRegion(os::Mapping mapping, Place place, std::uint64_t process, bool scrub) noexcept
      : m_mapping(std::move(mapping)), m_place(std::move(place)), m_process(process), m_scrub(scrub) {}
  ~P2pmemRegion() override {
    // As of host memory: a forked child that runs this must not wipe the parent's slots.
    if(m_scrub && os::currentProcess() == m_process)
      zero(0, m_mapping.size());
  }
  P2pmemRegion(P2pmemRegion&&) = delete;

  void* address(std::size_t offset) const noexcept override { return m_mapping.data() + offset; }
  Handoff handoff(std::size_t offset) const noexcept override { return PciMapping{address(offset)}; }

  Result<void> upload(std::size_t offset, std::span<const std::byte> from) const override {
    if(from.empty())
      return {};
    std::memcpy(m_mapping.data() + offset, from.data(), from.size());
    settle(offset);
    return {};
  }
  Result<void> download(std::size_t offset, std::span<std::byte> to) const override {
    if(!to.empty())
      std::memcpy(to.data(), m_mapping.data() + offset, to.size());
    return {};
  }

  Result<std::uint64_t> checksum(std::size_t offset, std::size_t bytes) const override {
    return rdmagpu::checksum({m_mapping.data() + offset, bytes});
  }
  Result<void> poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const override {
    rdmagpu::poison({m_mapping.data() + offset, bytes}, seed);
    settle(offset);
    return {};
  }
  Result<void> clear(std::size_t offset, std::size_t bytes) const override {
    zero(offset, bytes);
    return {};
  }

  Result<std::unique_ptr<Copies>> openCopies(const CopiesRequest& request) const override {
    if(request.stream)
      return libraryError("CopyQueue::make", LibraryCode::StreamOfOtherGpu);
    return std::unique_ptr<Copies>{std::make_unique<CpuCopies>(*this)};
  }

  void describe(BufferFacts& facts) const override {
    facts.device = nameOf(m_place.memory);
    facts.pci = m_place.pci;
    facts.pageBytes = os::pageBytes();
    facts.committedBytes += m_mapping.size();
    facts.residentBytes += m_mapping.size();
    facts.numaNode = m_place.node;
    facts.p2pmemBytes = m_place.memory.bytes;
    facts.p2pmemFreeBytes = m_place.memory.freeBytes;
    facts.rdmaCapable = published(m_place.memory);
  }

private:
  void zero(std::size_t offset, std::size_t bytes) const noexcept {
    std::memset(m_mapping.data() + offset, 0, bytes);
    settle(offset);
  }
  /// Stores to a device are posted, and a peer could overtake them. A load is answered after they have
  /// arrived.
  void settle(std::size_t offset) const noexcept {
    __sync_synchronize(); // ThreadSanitizer refuses the fence of the standard library
    const volatile std::byte* stored = m_mapping.data() + offset;
    static_cast<void>(*stored);
  }

  os::Mapping m_mapping;
  Place m_place;
  std::uint64_t m_process;
  bool m_scrub;
};

class P2pmemDevice final : public Device {
public:
  P2pmemDevice(const PciAddress& pci, std::string root, std::uint64_t process) noexcept
      : m_pci(pci), m_root(std::move(root)), m_process(process) {}

  Result<RegionPtr> allocate(const RegionRequest& request) override {
    Place place{.pci = m_pci, .memory = os::readP2pmem(m_pci, m_root), .node = os::nodeOf(m_pci, m_root)};
    auto mapping = os::mapP2pmem(m_pci, request.bytes, m_root);
    if(!mapping) {
      Error error = mapping.error();
      error.pci = m_pci;
      return error;
    }
    auto region = std::make_shared<const P2pmemRegion>(*std::move(mapping), std::move(place), m_process,
                                                       request.config.scrubOnDestroy);
    if(request.config.zeroFill) {
      if(const auto cleared = region->clear(0, request.bytes); !cleared)
        return cleared.error();
    }
    return RegionPtr{std::move(region)};
  }

  std::size_t slotGranularity() const noexcept override { return sharedPageBytes(); }

  /// Set aside for users like this: no reserve.
  std::optional<Budget> budget(const RdmaGpuBufferConfig&) const override {
    return Budget{os::readP2pmem(m_pci, m_root).freeBytes, LibraryCode::P2pmemExhausted};
  }

private:
  PciAddress m_pci;
  std::string m_root;
  std::uint64_t m_process;
};

Error notThere(const GpuSelector& named, bool anyThere) {
  Error error = libraryError(makeCall, anyThere ? LibraryCode::P2pmemDevice : LibraryCode::P2pmemAbsent);
  error.pci = named.pci;
  if(named.ordinal)
    error.device = *named.ordinal;
  return error;
}

Result<PciAddress> namedDevice(const GpuSelector& named, const std::vector<PciAddress>& devices) {
  auto chosen = devices.end();
  if(named.ordinal) {
    const auto index = static_cast<std::size_t>(*named.ordinal); // a negative one is far out of range
    if(index >= devices.size())
      return notThere(named, !devices.empty());
    chosen = devices.begin() + *named.ordinal;
  }
  if(named.pci) {
    const auto found = std::find(devices.begin(), devices.end(), *named.pci);
    if(found == devices.end())
      return notThere(named, !devices.empty());
    if(chosen != devices.end() && chosen != found)
      return libraryError(makeCall, LibraryCode::GpuSelectorConflict);
    chosen = found;
  }
  return *chosen;
}

Result<PciAddress> chooseDevice(const RdmaGpuBufferConfig& config, const std::string& root) {
  if(config.gpu.uuid || config.gpu.luid)
    return libraryError(makeCall, LibraryCode::P2pmemSelector);
  const auto devices = os::listP2pmem(root);
  if(!config.gpu.empty())
    return namedDevice(config.gpu, devices);
  if(devices.empty())
    return notThere(config.gpu, false);
  if(!config.peer)
    return devices.front();
  // The farther down the two ways part, the fewer bridges must let the peer through.
  return *std::max_element(devices.begin(), devices.end(), [&](const PciAddress& a, const PciAddress& b) {
    return os::sharedPath(a, *config.peer, root) < os::sharedPath(b, *config.peer, root);
  });
}

class PciP2pBackend final : public Backend {
public:
  RdmaGpuApi api() const noexcept override { return RdmaGpuApi::PciP2p; }
  HandoffKind handoffKind() const noexcept override { return HandoffKind::PciMapping; }
  BackendInfo probe() const override { return pci_p2p::probe(); }
  Result<DevicePtr> open(const RdmaGpuBufferConfig& config) const override { return pci_p2p::open(config); }
};

} // namespace

Result<DevicePtr> open(const RdmaGpuBufferConfig& config, const std::string& root) {
  const auto pci = chooseDevice(config, root);
  if(!pci)
    return pci.error();
  if(!os::allocatesP2pmem(*pci, root)) {
    Error error = libraryError(makeCall, LibraryCode::P2pmemTooOld);
    error.pci = *pci;
    return error;
  }
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  return DevicePtr{std::make_shared<P2pmemDevice>(*pci, root, *process)};
}

BackendInfo probe(const std::string& root) {
  BackendInfo info{.api = RdmaGpuApi::PciP2p};
  for(const PciAddress& pci : os::listP2pmem(root)) {
    const auto memory = os::readP2pmem(pci, root);
    info.devices.push_back({.name = nameOf(memory), .pci = pci, .rdmaCapable = published(memory)});
    info.available = info.available || os::allocatesP2pmem(pci, root);
  }
  if(!info.available)
    info.reason = libraryError("backends",
                               info.devices.empty() ? LibraryCode::P2pmemAbsent : LibraryCode::P2pmemTooOld);
  return info;
}

const Backend& instance() noexcept {
  static const PciP2pBackend backend;
  return backend;
}

} // namespace rdmagpu::backend::pci_p2p
