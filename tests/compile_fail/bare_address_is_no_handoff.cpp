// expect: convert|conversion
#include <rdmagpu/handoff.hpp>

rdmagpu::Handoff use(void* address) {
#ifdef VIOLATION
  return address;
#endif
  return rdmagpu::HostPointer{address};
}
