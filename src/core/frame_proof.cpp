#include <rdmagpu/frame_proof.hpp>

#include <base/enum_value.hpp>
#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>
#include <base/mix.hpp>
#include <core/buffer_state.hpp>
#include <core/canaries.hpp>
#include <core/host_canaries.hpp>
#include <core/proof_access.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace rdmagpu {
namespace {

struct FaultKind {
  FrameFault fault;
  const char* name;
  LibraryCode code;
};

constexpr std::array faultKinds{
    FaultKind{FrameFault::None, "none", LibraryCode::None},
    FaultKind{FrameFault::Stale, "stale", LibraryCode::FrameStale},
    FaultKind{FrameFault::Torn, "torn", LibraryCode::FrameTorn},
    FaultKind{FrameFault::Late, "late", LibraryCode::FrameLate},
    FaultKind{FrameFault::WrongOffset, "wrong-offset", LibraryCode::FrameWrongOffset},
    FaultKind{FrameFault::Short, "short", LibraryCode::FrameShort},
    FaultKind{FrameFault::Unchecked, "unchecked", LibraryCode::None}, // the log hears what failed
};

} // namespace

struct FrameProof::Impl {
  enum class Work : std::uint8_t { None, Look, Lay };

  struct Slot {
    core::SlotCanaries places;
    FrameFinding finding{};
    bool withPeer{};     ///< From arm() to check(): changes are what is wanted.
    bool laid{true};     ///< Canaries are there, since the last arm().
    Work started{};      ///< And not finished,
    Error refused{};     ///< unless this kept it from it.
    std::size_t bytes{}; ///< Of the frame that is looked at.
  };

  FrameProofConfig config;
  std::size_t frameBytes{};
  std::shared_ptr<const void> memory;
  std::vector<Slot> slots;
  std::unique_ptr<backend::Canaries> canaries;
  std::atomic<std::uint64_t> armed{}; ///< Times: each has other canaries.
  std::atomic<std::uint64_t> checks{};
  std::array<std::atomic<std::uint64_t>, faultKinds.size()> faults{};

  std::uint64_t nextKey() noexcept {
    return mix(poisonKey(config.seed) ^ armed.fetch_add(1, std::memory_order_relaxed));
  }
  std::uint64_t count(FrameFault fault) const noexcept {
    return faults[static_cast<std::size_t>(fault)].load(std::memory_order_relaxed);
  }
  Result<void> open(const RdmaGpuBuffer&);
  FrameFinding found(const char* call, std::uint32_t slot, FrameFinding) noexcept;
  FrameFinding unchecked(std::uint32_t slot, const Error&) noexcept;
  FrameFinding judgeFrame(const core::Samples&, std::size_t bytes) const noexcept;
  void start(std::span<const backend::CanaryTask>) noexcept;
  Result<backend::Canaries::Changed> finish(std::uint32_t slot) noexcept;
  FrameFinding finishCheck(std::uint32_t slot) noexcept;
  FrameFinding finishArm(const char* call, std::uint32_t slot, bool toPeer) noexcept;
  void endCheck(std::uint32_t slot) noexcept;
};

/// Counts it, and tells of the first of its kind.
FrameFinding FrameProof::Impl::found(const char* call, std::uint32_t slot, FrameFinding finding) noexcept {
  if(finding.fault == FrameFault::None)
    return finding;
  const auto kind = static_cast<std::size_t>(finding.fault);
  if(faults[kind].fetch_add(1, std::memory_order_relaxed) == 0) {
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "a frame is %s, which shows at byte %zu; others are only counted",
                  faultKinds[kind].name, finding.offset);
    Error error = libraryError(call, faultKinds[kind].code);
    error.slot = static_cast<std::int32_t>(slot);
    log(LogLevel::Failure, text.data(), error);
  }
  return finding;
}

FrameFinding FrameProof::Impl::unchecked(std::uint32_t slot, const Error& reason) noexcept {
  if(faults[static_cast<std::size_t>(FrameFault::Unchecked)].fetch_add(1, std::memory_order_relaxed) == 0) {
    Error error = reason;
    error.slot = static_cast<std::int32_t>(slot);
    log(LogLevel::Failure, "a slot could not be looked at, or armed; others are only counted", error);
  }
  return {FrameFault::Unchecked, 0};
}

FrameFinding FrameProof::Impl::judgeFrame(const core::Samples& seen, std::size_t bytes) const noexcept {
  if(seen.untouched)
    return {seen.changed ? FrameFault::Torn : FrameFault::Stale, *seen.untouched};
  if(seen.overwritten)
    return {FrameFault::WrongOffset, *seen.overwritten};
  if(config.wholeFrames && bytes < frameBytes)
    return {FrameFault::Short, bytes};
  return {};
}

namespace {

std::byte* onCpu(const RdmaGpuBuffer& buffer, std::size_t slot) noexcept {
  return static_cast<std::byte*>(cpuAddress(buffer.handoff(slot)));
}

/// A slot's start is what a write over the end of the slot before reaches, or a frame meant for another slot.
/// Of its own frame the end is late, or all of it when nothing had come.
FrameFinding judgeChange(const core::Samples& seen, FrameFault before) noexcept {
  if(before == FrameFault::Unchecked) // nobody knows what was there
    return {};
  if(!seen.changed)
    return seen.overwritten ? FrameFinding{FrameFault::WrongOffset, *seen.overwritten} : FrameFinding{};
  const bool incomplete = before == FrameFault::Stale || before == FrameFault::Torn;
  const bool fromStart = !seen.untouched || *seen.changed < *seen.untouched;
  return {fromStart && !incomplete ? FrameFault::WrongOffset : FrameFault::Late, *seen.changed};
}

} // namespace

const char* name(FrameFault fault) noexcept {
  const auto kind = static_cast<std::size_t>(fault);
  return kind < faultKinds.size() ? faultKinds[kind].name : "?";
}

Result<FrameProof> FrameProof::make(const RdmaGpuBuffer& slots, const FrameProofConfig& config) {
  constexpr const char* call = "FrameProof::make";
  if(!slots.valid())
    return libraryError(call, LibraryCode::BufferEmpty);
  if(const auto known = checkValue("FrameProofConfig::onFault", config.onFault, FaultPolicy::FailOver);
     !known)
    return known.error();
  const std::size_t frameBytes = slots.facts().frameBytes;
  if(frameBytes < core::SlotCanaries::minFrameBytes)
    return libraryError(call, LibraryCode::FrameTooSmallToProve, frameBytes,
                        core::SlotCanaries::minFrameBytes);
  return guarded(call, [&]() -> Result<FrameProof> {
    auto impl = std::make_unique<Impl>();
    impl->config = config;
    impl->frameBytes = frameBytes;
    impl->memory = slots.keepAlive(0);
    impl->slots.reserve(slots.slotCount());
    for(std::size_t i = 0; i < slots.slotCount(); ++i)
      impl->slots.push_back({.places = {frameBytes, slots.slot(i).size, mix(config.seed + i)}});
    if(const auto opened = impl->open(slots); !opened)
      return opened.error();
    for(std::size_t i = 0; i < slots.slotCount(); ++i) {
      const backend::CanaryTask lay{i, impl->nextKey()};
      if(const auto started = impl->canaries->start({&lay, 1}); !started)
        return started.error();
      if(const auto laid = impl->canaries->finish(i); !laid)
        return laid.error();
    }
    return FrameProof{std::move(impl)};
  });
}

/// Where the slots lie: the CPU does it, or the region itself.
Result<void> FrameProof::Impl::open(const RdmaGpuBuffer& buffer) {
  if(onCpu(buffer, 0)) {
    auto host = std::make_unique<core::HostCanaries>();
    for(std::size_t i = 0; i < slots.size(); ++i)
      host->add(onCpu(buffer, i), slots[i].places.places());
    canaries = std::move(host);
    return {};
  }
  const core::BufferState& state = *core::BufferAccess::state(buffer);
  std::vector<backend::CanarySlot> asked;
  for(std::size_t i = 0; i < slots.size(); ++i)
    asked.push_back({.offset = state.offsetInRegion(i), .places = slots[i].places.places()});
  auto opened = state.regions.front()->openCanaries(asked);
  if(!opened)
    return opened.error();
  canaries = *std::move(opened);
  return {};
}

FrameProof::FrameProof(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
FrameProof::~FrameProof() = default;
FrameProof::FrameProof(FrameProof&&) noexcept = default;
FrameProof& FrameProof::operator=(FrameProof&&) noexcept = default;

void FrameProof::Impl::start(std::span<const backend::CanaryTask> tasks) noexcept {
  const auto outcome = canaries->start(tasks);
  for(const backend::CanaryTask& task : tasks) {
    Slot& slot = slots[task.slot];
    slot.started = task.key ? Work::Lay : Work::Look;
    slot.refused = outcome ? Error{} : outcome.error();
  }
}

Result<backend::Canaries::Changed> FrameProof::Impl::finish(std::uint32_t index) noexcept {
  Slot& slot = slots[index];
  slot.started = Work::None;
  if(slot.refused.kind != Errc::None)
    return slot.refused;
  return canaries->finish(index);
}

FrameFinding FrameProof::Impl::finishCheck(std::uint32_t index) noexcept {
  Slot& slot = slots[index];
  slot.withPeer = false;
  const auto changed = finish(index);
  if(!changed) {
    slot.finding = unchecked(index, changed.error());
    return slot.finding;
  }
  checks.fetch_add(1, std::memory_order_relaxed);
  slot.finding = judgeFrame(slot.places.judge(*changed, slot.bytes), slot.bytes);
  return found("FrameProof::check", index, slot.finding);
}

/// Of one whose answer nobody has asked for.
void FrameProof::Impl::endCheck(std::uint32_t index) noexcept {
  if(slots[index].started == Work::Look)
    finishCheck(index);
}

/// What had changed until canaries were laid.
FrameFinding FrameProof::Impl::finishArm(const char* call, std::uint32_t index, bool toPeer) noexcept {
  Slot& slot = slots[index];
  const auto changed = finish(index);
  const FrameFault before = std::exchange(slot.finding, {}).fault;
  const bool unsettled = std::exchange(slot.withPeer, toPeer);
  slot.laid = changed.has_value();
  if(!changed)
    return unchecked(index, changed.error());
  if(unsettled)
    return {};
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  return found(call, index, judgeChange(slot.places.judge(*changed, all), before));
}

bool FrameProof::armsAhead() const noexcept { return m_impl && m_impl->canaries->isAsynchronous(); }

void FrameProof::startArm(std::uint32_t slot) noexcept { startCheck(noSlot, 0, slot); }

FrameFinding FrameProof::arm(std::uint32_t index) noexcept {
  if(index >= slotCount())
    return {};
  m_impl->endCheck(index);
  if(m_impl->slots[index].started == Impl::Work::None) {
    const backend::CanaryTask lay{index, m_impl->nextKey()};
    m_impl->start({&lay, 1});
  }
  return m_impl->finishArm("FrameProof::arm", index, true);
}

void FrameProof::startCheck(std::uint32_t index, std::size_t bytes, std::uint32_t armNext) noexcept {
  std::array<backend::CanaryTask, backend::Canaries::mostTasks> tasks;
  std::size_t count{};
  const auto isIdle = [&](std::uint32_t slot) { return m_impl->slots[slot].started == Impl::Work::None; };
  if(index < slotCount() && m_impl->slots[index].withPeer && m_impl->slots[index].laid && isIdle(index)) {
    m_impl->slots[index].bytes = bytes;
    tasks[count++] = {.slot = index};
  }
  if(armNext < slotCount() && armNext != index && armsAhead()) {
    m_impl->endCheck(armNext);
    if(isIdle(armNext))
      tasks[count++] = {.slot = armNext, .key = m_impl->nextKey()};
  }
  if(count > 0)
    m_impl->start({tasks.data(), count});
  if(index < slotCount() && !armsAhead())
    check(index, bytes);
}

FrameFinding FrameProof::check(std::uint32_t index, std::size_t bytes) noexcept {
  if(index >= slotCount())
    return {};
  Impl::Slot& slot = m_impl->slots[index];
  if(!slot.withPeer)
    return slot.finding;
  if(slot.started == Impl::Work::Lay)
    arm(index);
  if(!slot.laid) {
    slot.withPeer = false;
    slot.finding = m_impl->unchecked(index, {});
    return slot.finding;
  }
  if(slot.started == Impl::Work::None) {
    slot.bytes = bytes;
    const backend::CanaryTask look{.slot = index};
    m_impl->start({&look, 1});
  }
  return m_impl->finishCheck(index);
}

void core::ProofAccess::look(FrameProof& proof, std::uint32_t index, std::size_t bytes) noexcept {
  FrameProof::Impl& impl = *proof.m_impl;
  if(index >= proof.slotCount())
    return;
  const FrameProof::Impl::Slot& slot = impl.slots[index];
  if(slot.withPeer && slot.laid && slot.started == FrameProof::Impl::Work::None)
    impl.canaries->lookAhead(index, bytes);
}

FrameFinding FrameProof::recheck(std::uint32_t index) noexcept {
  if(index >= slotCount())
    return {};
  Impl::Slot& slot = m_impl->slots[index];
  m_impl->endCheck(index);
  if(slot.withPeer)
    return {};
  if(slot.started == Impl::Work::Lay) {
    const FrameFinding until = m_impl->finishArm("FrameProof::recheck", index, false);
    if(until.fault != FrameFault::None) {
      if(until.fault == FrameFault::Unchecked)
        slot.finding = until;
      return until;
    }
  }
  const backend::CanaryTask look{.slot = index};
  m_impl->start({&look, 1});
  const auto changed = m_impl->finish(index);
  if(!changed) {
    slot.finding = m_impl->unchecked(index, changed.error()); // of what comes now nobody knows when it came
    return slot.finding;
  }
  const core::Samples seen = slot.places.judge(*changed, m_impl->frameBytes);
  return m_impl->found("FrameProof::recheck", index, judgeChange(seen, slot.finding.fault));
}

FrameFinding FrameProof::finding(std::uint32_t slot) const noexcept {
  return slot < slotCount() ? m_impl->slots[slot].finding : FrameFinding{};
}

FrameProofCounters FrameProof::counters() const noexcept {
  if(!m_impl)
    return {};
  return {.checked = m_impl->checks.load(std::memory_order_relaxed),
          .stale = m_impl->count(FrameFault::Stale),
          .torn = m_impl->count(FrameFault::Torn),
          .late = m_impl->count(FrameFault::Late),
          .wrongOffset = m_impl->count(FrameFault::WrongOffset),
          .shortFrames = m_impl->count(FrameFault::Short),
          .unchecked = m_impl->count(FrameFault::Unchecked)};
}

FaultPolicy FrameProof::onFault() const noexcept { return m_impl ? m_impl->config.onFault : FaultPolicy{}; }

std::uint32_t FrameProof::slotCount() const noexcept {
  return m_impl ? static_cast<std::uint32_t>(m_impl->slots.size()) : 0;
}

} // namespace rdmagpu
