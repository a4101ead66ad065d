#include <capi/call.hpp>
#include <capi/completion.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(RingPolicy::Newest) == RDMAGPU_RING_NEWEST);
static_assert(static_cast<int>(RingStatus::Faulty) == RDMAGPU_RING_FAULTY);
static_assert(static_cast<int>(FrameFault::Unchecked) == RDMAGPU_FRAME_FAULT_UNCHECKED);

/// What the ring says, or Misuse where there is none.
template <class Call>
int onRing(rdmagpu_ring* ring, Call call) noexcept {
  return static_cast<int>(ring ? call(ring->value) : RingStatus::Misuse);
}

constexpr std::chrono::nanoseconds time(int64_t timeout) noexcept {
  return std::chrono::nanoseconds{timeout};
}

} // namespace

extern "C" {

const char* rdmagpu_ring_status_name(int32_t status) {
  switch(status) {
  case RDMAGPU_RING_OK:
    return "ok";
  case RDMAGPU_RING_EMPTY:
    return "empty";
  case RDMAGPU_RING_CLOSED:
    return "closed";
  case RDMAGPU_RING_MISUSE:
    return "misuse";
  case RDMAGPU_RING_FAULTY:
    return "faulty";
  default:
    return nullptr;
  }
}

const char* rdmagpu_frame_fault_name(int32_t fault) { return capi::nameOf(fault, FrameFault::Unchecked); }

int rdmagpu_ring_create(uint32_t slotCount, int32_t policy, rdmagpu_ring** ring, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_ring_create";
  return capi::create(call, ring, error, [&]() -> Result<SlotRing> {
    const auto known = capi::enumerator(policy, RingPolicy::Newest);
    if(!known)
      return libraryError(call, LibraryCode::ValueUnknown, static_cast<uint32_t>(policy),
                          RDMAGPU_RING_NEWEST);
    return SlotRing::make({.slotCount = slotCount, .policy = *known});
  });
}

void rdmagpu_ring_destroy(rdmagpu_ring* ring) { capi::destroy(ring); }

uint32_t rdmagpu_ring_slot_count(const rdmagpu_ring* ring) { return ring ? ring->value.slotCount() : 0; }

int32_t rdmagpu_ring_policy_of(const rdmagpu_ring* ring) {
  return ring ? static_cast<int32_t>(ring->value.policy()) : -1;
}

int rdmagpu_ring_counters_of(const rdmagpu_ring* ring, rdmagpu_ring_counters* counters,
                             rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_ring_counters_of";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, ring); !given)
      return given;
    const RingCounters now = ring->value.counters();
    return capi::write(call,
                       rdmagpu_ring_counters{.struct_size = 0,
                                             .reserved = 0,
                                             .published = now.published,
                                             .taken = now.taken,
                                             .drops = now.drops,
                                             .underruns = now.underruns},
                       counters);
  });
}

int rdmagpu_ring_acquire(rdmagpu_ring* ring, uint32_t* slot, int64_t timeout) {
  return onRing(ring, [&](SlotRing& value) noexcept {
    return slot ? value.acquire(*slot, time(timeout)) : RingStatus::Misuse;
  });
}

int rdmagpu_ring_abandon(rdmagpu_ring* ring, uint32_t slot) {
  return onRing(ring, [&](SlotRing& value) noexcept { return value.abandon(slot); });
}

int rdmagpu_ring_publish(rdmagpu_ring* ring, uint32_t slot, int64_t timestamp, uint64_t bytes,
                         uint64_t bytesReady, rdmagpu_completion completion) {
  return onRing(ring, [&](SlotRing& value) noexcept {
    return value.publish(slot, timestamp, bytes, bytesReady, capi::fromC(completion));
  });
}

int rdmagpu_ring_advance(rdmagpu_ring* ring, uint32_t slot, uint64_t bytesReady) {
  return onRing(ring, [&](SlotRing& value) noexcept { return value.advance(slot, bytesReady); });
}

void rdmagpu_ring_count_drop(rdmagpu_ring* ring) {
  if(ring)
    ring->value.countDrop();
}

void rdmagpu_ring_close_producer(rdmagpu_ring* ring) {
  if(ring)
    ring->value.closeProducer();
}

int rdmagpu_ring_take(rdmagpu_ring* ring, rdmagpu_frame* frame, int64_t timeout) {
  return onRing(ring, [&](SlotRing& value) noexcept {
    // Before a frame is taken that could not be told of.
    if(!capi::checkStruct("rdmagpu_ring_take", frame))
      return RingStatus::Misuse;
    RingFrame taken;
    const RingStatus status = value.take(taken, time(timeout));
    if(status == RingStatus::Ok)
      static_cast<void>(capi::write("rdmagpu_ring_take",
                                    rdmagpu_frame{.struct_size = 0,
                                                  .slot = taken.slot,
                                                  .sequence = taken.sequence,
                                                  .timestamp = taken.timestamp,
                                                  .bytes = taken.bytes,
                                                  .bytes_ready = taken.bytesReady,
                                                  .fault = static_cast<int32_t>(taken.fault),
                                                  .reserved = 0},
                                    frame));
    return status;
  });
}

uint64_t rdmagpu_ring_bytes_ready(const rdmagpu_ring* ring, uint32_t slot) {
  return ring ? ring->value.bytesReady(slot) : 0;
}

int rdmagpu_ring_wait_bytes(rdmagpu_ring* ring, uint32_t slot, uint64_t bytes, int64_t timeout) {
  return onRing(ring, [&](SlotRing& value) noexcept { return value.waitBytes(slot, bytes, time(timeout)); });
}

int32_t rdmagpu_ring_fault(const rdmagpu_ring* ring, uint32_t slot) {
  return ring ? static_cast<int32_t>(ring->value.fault(slot)) : RDMAGPU_FRAME_FAULT_NONE;
}

int rdmagpu_ring_release(rdmagpu_ring* ring, uint32_t slot, rdmagpu_completion completion) {
  return onRing(ring, [&](SlotRing& value) noexcept { return value.release(slot, capi::fromC(completion)); });
}

void rdmagpu_ring_count_underrun(rdmagpu_ring* ring) {
  if(ring)
    ring->value.countUnderrun();
}

void rdmagpu_ring_close_consumer(rdmagpu_ring* ring) {
  if(ring)
    ring->value.closeConsumer();
}

void rdmagpu_ring_notify(rdmagpu_ring* ring) {
  if(ring)
    ring->value.notify();
}

} // extern "C"
