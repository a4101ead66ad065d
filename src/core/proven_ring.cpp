#include <core/slot_ring_impl.hpp>

#include <base/log.hpp>

namespace rdmagpu {

/// To the producer. What comes to light then is a fault of the direct path, too. Once that has failed, the
/// peer writes to its slots no more: each is looked at one last time.
void SlotRing::Impl::handOut(std::uint32_t slot) noexcept {
  const bool direct = !stage || stage->directNow.load(std::memory_order_relaxed);
  if(proof && direct)
    failOver(proof->arm(slot).fault);
  else if(proof && !staged(slot))
    proof->recheck(slot);
  if(!stage)
    return;
  stage->slots[slot].direct.store(stage->directNow.load(std::memory_order_relaxed),
                                  std::memory_order_relaxed);
  if(stage->proof && staged(slot))
    stage->proof->arm(slot);
}

/// A free slot that the producer will get, and whose canaries can be laid until then; or none.
std::uint32_t SlotRing::Impl::nextToArm() noexcept {
  std::uint32_t slot{};
  bool pending = false;
  const bool direct = !stage || stage->directNow.load(std::memory_order_relaxed);
  if(!direct || !proof->armsAhead() || producer.aheadCount == producer.ahead.size() ||
     !popFree(slot, pending))
    return FrameProof::noSlot;
  producer.ahead[producer.aheadCount++] = slot;
  return slot;
}

void SlotRing::Impl::armAhead() noexcept {
  for(std::uint32_t slot = nextToArm(); slot != FrameProof::noSlot; slot = nextToArm())
    proof->startArm(slot);
}

/// A frame that is about to be whole, in memory that the consumer will read.
FrameFault SlotRing::Impl::proveHere(std::uint32_t slot, std::size_t bytes) noexcept {
  if(!proof || staged(slot))
    return FrameFault::None;
  const FrameFault fault = proof->check(slot, bytes).fault;
  failOver(fault);
  return fault;
}

/// Has a frame looked at. Whether it is not there, and its slot has become other memory to write it to; where
/// there is none, whoever takes the frame asks what was found.
bool SlotRing::Impl::mustGoElsewhere(std::uint32_t slot, std::size_t bytes) noexcept {
  if(staged(slot))
    return false;
  proof->startCheck(slot, bytes, nextToArm());
  if(!stage || proof->onFault() != FaultPolicy::FailOver || proveHere(slot, bytes) == FrameFault::None ||
     stage->directNow.load(std::memory_order_relaxed))
    return false;
  handOut(slot);
  return true;
}

/// A frame that was published in part and with a completion, if it is whole by now; others were checked then.
void SlotRing::Impl::proveGrown(std::uint32_t slot) noexcept {
  const Progress& progress = producer.progress[slot];
  if(progress.whole())
    proveHere(slot, progress.bytes);
}

void SlotRing::Impl::failOver(FrameFault fault) noexcept {
  if(fault == FrameFault::None || !stage || proof->onFault() != FaultPolicy::FailOver)
    return;
  if(stage->directNow.exchange(false, std::memory_order_relaxed))
    log(LogLevel::Warning, fault == FrameFault::Unchecked
                               ? "the direct path cannot be proven: from now on frames go through host memory"
                               : "the direct path has failed: from now on frames go through host memory");
}

} // namespace rdmagpu
