#include <base/hints.hpp>
#include <driver/cuda.hpp>

#include <array>

namespace rdmagpu::driver::cuda {
namespace {

struct Code {
  std::uint32_t value;
  const char* name; ///< For a driver that cannot name it.
  Errc kind;
};

constexpr std::array codes{
    Code{1, "CUDA_ERROR_INVALID_VALUE", Errc::InvalidArgument},
    Code{2, "CUDA_ERROR_OUT_OF_MEMORY", Errc::OutOfMemory},
    Code{3, "CUDA_ERROR_NOT_INITIALIZED", Errc::Lost},
    Code{4, "CUDA_ERROR_DEINITIALIZED", Errc::Lost},
    Code{34, "CUDA_ERROR_STUB_LIBRARY", Errc::NotFound},
    Code{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", Errc::Busy},
    Code{100, "CUDA_ERROR_NO_DEVICE", Errc::NotFound},
    Code{101, "CUDA_ERROR_INVALID_DEVICE", Errc::NotFound},
    Code{200, "CUDA_ERROR_INVALID_IMAGE", Errc::Unsupported},
    Code{201, "CUDA_ERROR_INVALID_CONTEXT", Errc::InvalidArgument},
    Code{209, "CUDA_ERROR_NO_BINARY_FOR_GPU", Errc::Unsupported},
    Code{214, "CUDA_ERROR_ECC_UNCORRECTABLE", Errc::Lost},
    Code{218, "CUDA_ERROR_INVALID_PTX", Errc::Unsupported},
    Code{220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", Errc::Lost},
    Code{221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", Errc::Unsupported},
    Code{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", Errc::Unsupported},
    Code{223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", Errc::Unsupported},
    Code{304, "CUDA_ERROR_OPERATING_SYSTEM", Errc::Internal},
    Code{400, "CUDA_ERROR_INVALID_HANDLE", Errc::InvalidArgument},
    Code{401, "CUDA_ERROR_ILLEGAL_STATE", Errc::Internal},
    Code{500, "CUDA_ERROR_NOT_FOUND", Errc::NotFound},
    Code{600, "CUDA_ERROR_NOT_READY", Errc::Busy},
    Code{700, "CUDA_ERROR_ILLEGAL_ADDRESS", Errc::Lost},
    Code{702, "CUDA_ERROR_LAUNCH_TIMEOUT", Errc::Lost},
    Code{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", Errc::Lost},
    Code{710, "CUDA_ERROR_ASSERT", Errc::Lost},
    Code{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", Errc::InvalidArgument},
    Code{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", Errc::InvalidArgument},
    Code{714, "CUDA_ERROR_HARDWARE_STACK_ERROR", Errc::Lost},
    Code{715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", Errc::Lost},
    Code{716, "CUDA_ERROR_MISALIGNED_ADDRESS", Errc::Lost},
    Code{717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", Errc::Lost},
    Code{718, "CUDA_ERROR_INVALID_PC", Errc::Lost},
    Code{719, "CUDA_ERROR_LAUNCH_FAILED", Errc::Lost},
    Code{800, "CUDA_ERROR_NOT_PERMITTED", Errc::Permission},
    Code{801, "CUDA_ERROR_NOT_SUPPORTED", Errc::Unsupported},
    Code{802, "CUDA_ERROR_SYSTEM_NOT_READY", Errc::Busy},
    Code{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", Errc::Unsupported},
    Code{804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", Errc::Unsupported},
    Code{805, "CUDA_ERROR_MPS_CONNECTION_FAILED", Errc::Busy},
    Code{806, "CUDA_ERROR_MPS_RPC_FAILURE", Errc::Busy},
    Code{807, "CUDA_ERROR_MPS_SERVER_NOT_READY", Errc::Busy},
    Code{808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", Errc::Busy},
    Code{809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", Errc::Busy},
    Code{810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", Errc::Lost},
    Code{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", Errc::Busy},
    Code{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", Errc::Busy},
    Code{905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", Errc::InvalidArgument},
    Code{906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", Errc::Busy},
    Code{907, "CUDA_ERROR_CAPTURED_EVENT", Errc::InvalidArgument},
};

} // namespace

Error failureOf(const char* symbol, Status status, std::uint64_t bytes) noexcept {
  const auto value = static_cast<std::uint32_t>(status);
  const Hint* hint = findHint(Origin::Cuda, symbol, value);
  Error error{.kind = Errc::Internal,
              .origin = Origin::Cuda,
              .code = value,
              .call = symbol,
              .finding = hint ? hint->finding : "",
              .bytes = bytes};
  for(const Code& known : codes) {
    if(known.value == value) {
      error.kind = known.kind;
      error.codeName = known.name;
    }
  }
  return error;
}

Error Functions::failure(const char* symbol, Status status, std::uint64_t bytes) const noexcept {
  Error error = failureOf(symbol, status, bytes);
  const char* named{}; // text of the driver's own, there as long as the process
  if(getErrorName(status, &named) == Status::Success && named)
    error.codeName = named;
  return error;
}

} // namespace rdmagpu::driver::cuda
