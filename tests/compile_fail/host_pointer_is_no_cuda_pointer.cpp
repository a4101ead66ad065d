// expect: could not convert|no matching function|no viable conversion|cannot convert
#include <rdmagpu/handoff.hpp>

void capture(rdmagpu::CudaPointer);

void use(const rdmagpu::HostPointer& host, const rdmagpu::CudaPointer& cuda) {
  capture(cuda);
#ifdef VIOLATION
  capture(host);
#endif
  static_cast<void>(host);
}
