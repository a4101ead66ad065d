#pragma once

namespace rdmagpu {

/// A CUstream, for code that has no cuda.h: `CudaStream{stream}`. Null: the default stream.
struct CudaStream {
  void* value{};
};
/// A CUevent.
struct CudaEvent {
  void* value{};
};

} // namespace rdmagpu
