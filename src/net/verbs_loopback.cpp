#include <base/guarded.hpp>
#include <net/verbs_pair.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs_loopback.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace rdmagpu {
namespace {

constexpr const char* makeCall = "VerbsLoopback::make";

/// On iWARP what is read is written by the other end.
Access ownAccess(const ibv_pd& domain) noexcept {
  return net::isIwarp(domain) ? Access::LocalWrite | Access::RemoteWrite : Access::LocalWrite;
}

} // namespace

struct VerbsLoopback::Impl {
  const VerbsRegistration& slots;
  ibv_pd* domain{};
  VerbsLoopbackOptions options;
  std::string name;
  Agent agent{};
  VerbsPort port;
  RdmaGpuBuffer memory; ///< The other end of every transfer.
  VerbsRegistration registered;
  std::optional<net::ConnectedPair> pair;

  std::byte* own() const noexcept { return static_cast<std::byte*>(cpuAddress(memory.handoff(0))); }

  Result<void> run(ibv_wr_opcode opcode, std::uint32_t slot, std::size_t offset, std::size_t bytes) {
    if(!pair) {
      auto made = net::ConnectedPair::make(domain, options);
      if(!made)
        return made.error();
      pair.emplace(*std::move(made));
    }
    const auto remote = slots.remoteAddress(slot);
    if(!remote)
      return libraryError("VerbsLoopback", LibraryCode::SlotOutOfRange, slot);
    auto done = pair->run({.opcode = opcode,
                           .local = registered.iova(),
                           .lkey = registered.lkey(),
                           .remote = *remote + offset,
                           .rkey = slots.rkey(),
                           .bytes = static_cast<std::uint32_t>(bytes)});
    if(!done)
      pair.reset(); // its queue pairs are in the error state
    return done;
  }
};

VerbsLoopback::VerbsLoopback(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
VerbsLoopback::~VerbsLoopback() = default;
VerbsLoopback::VerbsLoopback(VerbsLoopback&&) noexcept = default;
VerbsLoopback& VerbsLoopback::operator=(VerbsLoopback&&) noexcept = default;

Result<VerbsLoopback> VerbsLoopback::make(const VerbsRegistration& slots,
                                          const VerbsLoopbackOptions& options) {
  return guarded(makeCall, [&]() -> Result<VerbsLoopback> {
    if(!slots.valid())
      return libraryError(makeCall, LibraryCode::BufferEmpty);
    ibv_pd* domain = slots.native()->pd;
    auto pair = net::ConnectedPair::make(domain, options);
    if(!pair)
      return pair.error();
    auto memory = RdmaGpuBuffer::make(
        {.api = RdmaGpuApi::HostFallback, .slotCount = 1, .frameBytes = pair->maxMessage()});
    if(!memory)
      return memory.error();
    auto registered = VerbsRegistration::make(domain, *memory, {.access = ownAccess(*domain)});
    if(!registered)
      return registered.error();
    const ibv_device& device = *domain->context->device;
    return VerbsLoopback{
        std::make_unique<Impl>(Impl{.slots = slots,
                                    .domain = domain,
                                    .options = options,
                                    .name = std::string{"verbs:"} + device.name,
                                    .agent = net::isHardware(device) ? Agent::Device : Agent::Software,
                                    .port = pair->port(),
                                    .memory = *std::move(memory),
                                    .registered = *std::move(registered),
                                    .pair = *std::move(pair)})};
  });
}

const char* VerbsLoopback::name() const noexcept { return m_impl->name.c_str(); }
const VerbsPort& VerbsLoopback::port() const noexcept { return m_impl->port; }
Agent VerbsLoopback::agent() const noexcept { return m_impl->agent; }

Result<void> VerbsLoopback::write(std::uint32_t slot, std::span<const std::byte> bytes) {
  for(std::size_t at = 0; at < bytes.size();) {
    const std::size_t part = std::min(bytes.size() - at, m_impl->memory.facts().frameBytes);
    std::memcpy(m_impl->own(), bytes.data() + at, part);
    if(const auto done = m_impl->run(IBV_WR_RDMA_WRITE, slot, at, part); !done)
      return done;
    at += part;
  }
  return {};
}

Result<void> VerbsLoopback::read(std::uint32_t slot, std::span<std::byte> bytes) {
  for(std::size_t at = 0; at < bytes.size();) {
    const std::size_t part = std::min(bytes.size() - at, m_impl->memory.facts().frameBytes);
    if(const auto done = m_impl->run(IBV_WR_RDMA_READ, slot, at, part); !done)
      return done;
    std::memcpy(bytes.data() + at, m_impl->own(), part);
    at += part;
  }
  return {};
}

} // namespace rdmagpu
