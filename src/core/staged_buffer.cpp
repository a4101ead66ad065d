#include <rdmagpu/staged_buffer.hpp>

#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/slice_size.hpp>
#include <core/stage_pump.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace rdmagpu {
namespace {

constexpr const char* makeCall = "StagedBuffer::make";

/// The application uses its slots itself: whether a peer reaches them is asked afterwards.
RdmaGpuBufferConfig applicationConfig(const StagedBufferConfig& config) {
  RdmaGpuBufferConfig wanted = config.buffer;
  wanted.accepts = {};
  const bool out =
      config.path == SlotPath::Staged || !config.buffer.accepts.contains(HandoffKind::CudaPointer);
  if(config.path == SlotPath::Direct)
    wanted.rdma = GpuRdma::Require;
  else
    wanted.rdma = out ? GpuRdma::Off : GpuRdma::Try;
  return wanted;
}

/// Host slots beside those of the application.
RdmaGpuBufferConfig hostConfig(const StagedBufferConfig& config, const RdmaGpuBuffer& application) {
  RdmaGpuBufferConfig wanted = config.buffer;
  wanted.api = RdmaGpuApi::HostFallback;
  if(application.backend() != RdmaGpuApi::HostFallback && wanted.host.gpuPin == GpuPin::Off)
    wanted.host.gpuPin = GpuPin::Require;
  return wanted;
}

/// Kind None: the peer reaches those slots.
Error whyNotDirect(const RdmaGpuBuffer& slots, const Handoffs& accepted) {
  if(!accepted.contains(kind(slots.handoff(0))))
    return libraryError(makeCall, LibraryCode::PeerCannotAddress);
  // Of host memory no driver says anything.
  if(slots.backend() != RdmaGpuApi::HostFallback && slots.facts().rdmaCapable != Answer::Yes)
    return libraryError(makeCall, LibraryCode::NotRdmaCapable);
  return {};
}

std::vector<std::span<std::byte>> slotsOf(const RdmaGpuBuffer& buffer) {
  std::vector<std::span<std::byte>> slots;
  slots.reserve(buffer.slotCount());
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    slots.emplace_back(static_cast<std::byte*>(cpuAddress(buffer.handoff(i))), buffer.slot(i).size);
  return slots;
}

/// Copies under way at most, of all frames; and one to spare, so that none waits for another's end.
std::uint32_t copiesAtOnce(std::uint32_t slots) noexcept {
  constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max() / core::StagePump::partsAtOnce - 1;
  return std::min(slots, most) * core::StagePump::partsAtOnce + 1;
}

} // namespace

struct StagedBuffer::Impl {
  RdmaGpuBuffer application;
  RdmaGpuBuffer peer; ///< Empty on a direct path.
  RdmaGpuBuffer companions;
  StagedBufferFacts facts;
  std::optional<FrameProof> proof; ///< Of the peer's slots.
  std::unique_ptr<RingStage> stage;
  std::unique_ptr<core::StagePump> pump; // last: it goes first

  Result<void> makeBuffers(const StagedBufferConfig&);
  Result<void> makeCompanions(const StagedBufferConfig&);
  Result<void> makeProof(const StagedBufferConfig&);
  Result<void> startPump(const StagedBufferConfig&, SlotRing&);
};

const char* name(SlotPath path) noexcept {
  switch(path) {
  case SlotPath::Direct:
    return "direct";
  case SlotPath::Staged:
    return "staged";
  }
  return "?";
}

Result<void> StagedBuffer::Impl::makeBuffers(const StagedBufferConfig& config) {
  auto made = RdmaGpuBuffer::make(applicationConfig(config));
  if(!made)
    return made.error();
  application = *std::move(made);
  if(config.path != SlotPath::Staged)
    facts.reason = whyNotDirect(application, config.buffer.accepts);
  const bool reachable = facts.reason.kind == Errc::None;
  if(config.path == SlotPath::Direct && !reachable)
    return facts.reason;
  facts.path = config.path.value_or(reachable ? SlotPath::Direct : SlotPath::Staged);
  facts.application = application.facts();
  facts.peer = facts.application;
  if(facts.path == SlotPath::Direct)
    return {};

  if(!config.buffer.accepts.contains(HandoffKind::HostPointer))
    return libraryError(makeCall, LibraryCode::PeerCannotAddress);
  auto host = RdmaGpuBuffer::make(hostConfig(config, application));
  if(!host)
    return host.error();
  peer = *std::move(host);
  facts.peer = peer.facts();
  return {};
}

Result<void> StagedBuffer::Impl::makeCompanions(const StagedBufferConfig& config) {
  if(config.companionBytes == 0)
    return {};
  RdmaGpuBufferConfig wanted = hostConfig(config, application);
  wanted.frameBytes = config.companionBytes;
  auto made = RdmaGpuBuffer::make(wanted);
  if(!made)
    return made.error();
  companions = *std::move(made);
  facts.companionBytes = config.companionBytes;
  return {};
}

Result<void> StagedBuffer::Impl::makeProof(const StagedBufferConfig& config) {
  if(!config.proof)
    return {};
  if(config.flow == SlotFlow::Playout)
    return libraryError(makeCall, LibraryCode::PlayoutNotProvable);
  auto made = FrameProof::make(peer.valid() ? peer : application, *config.proof);
  if(!made)
    return made.error();
  proof.emplace(*std::move(made));
  return {};
}

Result<void> StagedBuffer::Impl::startPump(const StagedBufferConfig& config, SlotRing& ring) {
  auto queue = CopyQueue::make(application, {.depth = copiesAtOnce(ring.slotCount())});
  if(!queue)
    return queue.error();
  core::StageCopies copies{*std::move(queue), slotsOf(peer), config.flow};
  facts.sliceBytes = config.sliceBytes;
  if(facts.sliceBytes == 0) {
    const auto measured = core::measureSlice(copies, config.buffer.frameBytes);
    if(!measured)
      return measured.error();
    facts.sliceBytes = *measured;
  }
  stage = std::make_unique<RingStage>(ring.slotCount());
  pump = std::make_unique<core::StagePump>(ring, *stage, std::move(copies), facts.sliceBytes);
  return pump->start();
}

Result<StagedBuffer> StagedBuffer::make(const StagedBufferConfig& config) {
  return guarded(makeCall, [&]() -> Result<StagedBuffer> {
    auto impl = std::make_unique<Impl>();
    if(const auto made = impl->makeBuffers(config); !made)
      return made.error();
    if(const auto made = impl->makeCompanions(config); !made)
      return made.error();
    if(const auto made = impl->makeProof(config); !made)
      return made.error();
    auto ring = SlotRing::make({.slotCount = config.buffer.slotCount,
                                .policy = config.policy,
                                .proof = impl->proof ? &*impl->proof : nullptr});
    if(!ring)
      return ring.error();
    if(impl->facts.path == SlotPath::Staged) {
      if(const auto started = impl->startPump(config, *ring); !started)
        return started.error();
    }
    return StagedBuffer{*std::move(ring), std::move(impl)};
  });
}

StagedBuffer::StagedBuffer(SlotRing ring, std::unique_ptr<Impl> impl) noexcept
    : m_ring(std::move(ring)), m_impl(std::move(impl)) {}
StagedBuffer::StagedBuffer(StagedBuffer&&) noexcept = default;
StagedBuffer::~StagedBuffer() = default;

StagedBuffer& StagedBuffer::operator=(StagedBuffer&& other) noexcept {
  StagedBuffer taken{std::move(other)};
  std::swap(m_ring, taken.m_ring);
  m_impl.swap(taken.m_impl);
  return *this;
}

const StagedBufferFacts& StagedBuffer::facts() const noexcept {
  static const StagedBufferFacts nothing;
  return m_impl ? m_impl->facts : nothing;
}

const RdmaGpuBuffer& StagedBuffer::applicationBuffer() const noexcept {
  static const RdmaGpuBuffer nothing;
  return m_impl ? m_impl->application : nothing;
}

const RdmaGpuBuffer& StagedBuffer::peerBuffer() const noexcept {
  return m_impl && m_impl->peer.valid() ? m_impl->peer : applicationBuffer();
}

std::span<std::byte> StagedBuffer::companion(std::size_t i) const noexcept {
  if(!m_impl || i >= m_impl->companions.slotCount())
    return {};
  return {static_cast<std::byte*>(cpuAddress(m_impl->companions.handoff(i))), m_impl->facts.companionBytes};
}

std::optional<FrameProofCounters> StagedBuffer::proofCounters() const noexcept {
  return m_impl && m_impl->proof ? std::optional(m_impl->proof->counters()) : std::nullopt;
}

void StagedBuffer::close() noexcept {
  m_ring.closeProducer();
  m_ring.closeConsumer();
  if(m_impl && m_impl->pump)
    m_impl->pump->stop();
  if(m_impl && m_impl->proof) {
    for(std::uint32_t slot = 0; slot < m_impl->proof->slotCount(); ++slot)
      m_impl->proof->recheck(slot);
  }
}

Error StagedBuffer::error() const noexcept {
  return m_impl && m_impl->pump ? m_impl->pump->error() : Error{};
}

} // namespace rdmagpu
