#pragma once

namespace rdmagpu {

/// A CUstream, for code that has no cuda.h: `CudaStream{stream}`. Null, like CU_STREAM_LEGACY: the legacy
/// default stream, also for code that was compiled to mean its thread's own by 0.
struct CudaStream {
  void* value{};
};
/// A CUevent.
struct CudaEvent {
  void* value{};
};

} // namespace rdmagpu
