#pragma once
#include <driver/cuda.hpp>

#include <optional>

namespace rdmagpu::testkit {

namespace api = driver::cuda;

/// CUDA's driver: what rdmagpu calls of it, and what else it takes to tell what state it is in.
struct CudaApi {
  explicit CudaApi(SymbolSource& source) noexcept : functions(source) {}

  api::Functions functions;
  driver::Fn<"cuCtxSetCurrent", api::Status(api::Context)> ctxSetCurrent{functions.load};
  driver::Fn<"cuDevicePrimaryCtxGetState", api::Status(api::Device, unsigned*, int*)> primaryCtxGetState{
      functions.load};
  driver::Fn<"cuDriverGetVersion", api::Status(int*), driver::Need::Optional> driverGetVersion{
      functions.load};
};

/// The libcuda.so.1 that the library path leads to; null, with a message on stderr, where there is none or
/// it is too old.
const CudaApi* openCuda();

} // namespace rdmagpu::testkit
