// expect: deleted|implicitly-deleted
#include <rdmagpu/slot_ring.hpp>

#include <utility>

void use(rdmagpu::SlotRing& ring) {
  rdmagpu::SlotRing moved = std::move(ring);
#ifdef VIOLATION
  rdmagpu::SlotRing copy = moved;
#endif
}
