#include <rdmagpu/staged_buffer.hpp>

#include <base/enum_value.hpp>
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

/// Host slots beside those of the application, for the copy engine of its GPU.
RdmaGpuBufferConfig hostConfig(const StagedBufferConfig& config, const RdmaGpuBuffer& application) {
  RdmaGpuBufferConfig wanted = config.buffer;
  wanted.api = RdmaGpuApi::HostFallback;
  if(const auto& gpu = application.facts().pci) {
    wanted.gpu = {};
    wanted.gpu.pci = gpu;
  }
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

bool failsOver(const StagedBufferConfig& config) noexcept {
  return config.proof && config.proof->onFault == FaultPolicy::FailOver;
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
  RdmaGpuBuffer peer; ///< Empty on a direct path that has nothing to fail over to.
  RdmaGpuBuffer companions;
  StagedBufferFacts facts;
  std::optional<FrameProof> proof;       ///< Of the application's slots, when the peer writes to them.
  std::optional<FrameProof> stagedProof; ///< Of the peer's own.
  std::unique_ptr<RingStage> stage;
  std::unique_ptr<core::StagePump> pump; // last: it goes first

  Result<void> makeBuffers(const StagedBufferConfig&);
  Result<void> makeCompanions(const StagedBufferConfig&);
  Result<void> makeProof(const StagedBufferConfig&);
  Result<core::StageCopies> makeCopies(const StagedBufferConfig&);
  Result<void> startPump(SlotRing&, core::StageCopies);
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
  if(const auto known = checkValue("StagedBufferConfig::flow", config.flow, SlotFlow::Playout); !known)
    return known;
  const SlotPath path = config.path.value_or(SlotPath::Staged);
  if(const auto known = checkValue("StagedBufferConfig::path", path, SlotPath::Staged); !known)
    return known;
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
  if(facts.path == SlotPath::Direct && !failsOver(config))
    return {};

  if(!config.buffer.accepts.contains(HandoffKind::HostPointer))
    return libraryError(makeCall, LibraryCode::PeerCannotAddress);
  auto host = RdmaGpuBuffer::make(hostConfig(config, application));
  if(!host)
    return host.error();
  peer = *std::move(host);
  if(facts.path == SlotPath::Staged)
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
  const auto prove = [&](const RdmaGpuBuffer& slots, std::optional<FrameProof>& of) -> Result<void> {
    auto made = FrameProof::make(slots, *config.proof);
    if(!made)
      return made.error();
    of.emplace(*std::move(made));
    return {};
  };
  if(facts.path == SlotPath::Direct) {
    if(auto made = prove(application, proof); !made)
      return made;
  }
  return peer.valid() ? prove(peer, stagedProof) : Result<void>{};
}

/// Leaves traces in the slots.
Result<core::StageCopies> StagedBuffer::Impl::makeCopies(const StagedBufferConfig& config) {
  auto queue = CopyQueue::make(application, {.depth = copiesAtOnce(config.buffer.slotCount)});
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
  return copies;
}

Result<void> StagedBuffer::Impl::startPump(SlotRing& ring, core::StageCopies copies) {
  stage = std::make_unique<RingStage>(ring.slotCount());
  stage->proof = stagedProof ? &*stagedProof : nullptr;
  stage->directNow = facts.path == SlotPath::Direct;
  for(std::uint32_t slot = 0; slot < ring.slotCount(); ++slot)
    stage->slots[slot].direct = facts.path == SlotPath::Direct;
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
    std::optional<core::StageCopies> copies;
    if(impl->peer.valid()) {
      auto made = impl->makeCopies(config);
      if(!made)
        return made.error();
      copies.emplace(*std::move(made));
    }
    if(const auto made = impl->makeProof(config); !made)
      return made.error();
    auto ring = SlotRing::make({.slotCount = config.buffer.slotCount,
                                .policy = config.policy,
                                .proof = impl->proof ? &*impl->proof : nullptr});
    if(!ring)
      return ring.error();
    if(copies) {
      if(const auto started = impl->startPump(*ring, *std::move(copies)); !started)
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

const RdmaGpuBuffer& StagedBuffer::companionBuffer() const noexcept {
  static const RdmaGpuBuffer nothing;
  return m_impl ? m_impl->companions : nothing;
}

std::span<std::byte> StagedBuffer::companion(std::size_t i) const noexcept {
  if(!m_impl || i >= m_impl->companions.slotCount())
    return {};
  return {static_cast<std::byte*>(cpuAddress(m_impl->companions.handoff(i))), m_impl->facts.companionBytes};
}

Handoff StagedBuffer::handoff(std::size_t i) const noexcept {
  const bool direct = m_impl && m_impl->stage && i < peerBuffer().slotCount() &&
                      m_impl->stage->slots[i].direct.load(std::memory_order_relaxed);
  return (direct ? applicationBuffer() : peerBuffer()).handoff(i);
}

SlotPath StagedBuffer::path() const noexcept {
  const bool failed = m_impl && m_impl->stage && !m_impl->stage->directNow.load(std::memory_order_relaxed);
  return failed ? SlotPath::Staged : facts().path;
}

std::optional<FrameProofCounters> StagedBuffer::proofCounters() const noexcept {
  if(!m_impl || !(m_impl->proof || m_impl->stagedProof))
    return {};
  FrameProofCounters sum;
  for(const auto* proof : {&m_impl->proof, &m_impl->stagedProof}) {
    if(*proof)
      sum += (*proof)->counters();
  }
  return sum;
}

void StagedBuffer::close() noexcept {
  m_ring.closeProducer();
  m_ring.closeConsumer();
  if(m_impl && m_impl->pump)
    m_impl->pump->stop();
  if(!m_impl)
    return;
  const auto lookAgain = [](FrameProof& proof, auto isPeers) {
    for(std::uint32_t slot = 0; slot < proof.slotCount(); ++slot) {
      if(isPeers(slot))
        proof.recheck(slot);
    }
  };
  const RingStage* const stage = m_impl->stage.get();
  if(m_impl->proof) // once a slot is staged the copies that come into it are this object's
    lookAgain(*m_impl->proof, [&](std::uint32_t slot) { return !stage || stage->slots[slot].direct; });
  if(m_impl->stagedProof)
    lookAgain(*m_impl->stagedProof, [](std::uint32_t) { return true; });
}

Error StagedBuffer::error() const noexcept {
  return m_impl && m_impl->pump ? m_impl->pump->error() : Error{};
}

} // namespace rdmagpu
