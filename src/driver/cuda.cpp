#include <base/known_code.hpp>
#include <driver/cuda.hpp>

#include <array>

namespace rdmagpu::driver::cuda {
namespace {

constexpr std::array codes{
    KnownCode{1, "CUDA_ERROR_INVALID_VALUE", Errc::InvalidArgument},
    KnownCode{2, "CUDA_ERROR_OUT_OF_MEMORY", Errc::OutOfMemory},
    KnownCode{3, "CUDA_ERROR_NOT_INITIALIZED", Errc::Lost},
    KnownCode{4, "CUDA_ERROR_DEINITIALIZED", Errc::Lost},
    KnownCode{34, "CUDA_ERROR_STUB_LIBRARY", Errc::NotFound},
    KnownCode{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", Errc::Busy},
    KnownCode{100, "CUDA_ERROR_NO_DEVICE", Errc::NotFound},
    KnownCode{101, "CUDA_ERROR_INVALID_DEVICE", Errc::NotFound},
    KnownCode{200, "CUDA_ERROR_INVALID_IMAGE", Errc::Unsupported},
    KnownCode{201, "CUDA_ERROR_INVALID_CONTEXT", Errc::InvalidArgument},
    KnownCode{209, "CUDA_ERROR_NO_BINARY_FOR_GPU", Errc::Unsupported},
    KnownCode{214, "CUDA_ERROR_ECC_UNCORRECTABLE", Errc::Lost},
    KnownCode{218, "CUDA_ERROR_INVALID_PTX", Errc::Unsupported},
    KnownCode{220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", Errc::Lost},
    KnownCode{221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", Errc::Unsupported},
    KnownCode{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", Errc::Unsupported},
    KnownCode{223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", Errc::Unsupported},
    KnownCode{304, "CUDA_ERROR_OPERATING_SYSTEM", Errc::Internal},
    KnownCode{400, "CUDA_ERROR_INVALID_HANDLE", Errc::InvalidArgument},
    KnownCode{401, "CUDA_ERROR_ILLEGAL_STATE", Errc::Internal},
    KnownCode{500, "CUDA_ERROR_NOT_FOUND", Errc::NotFound},
    KnownCode{600, "CUDA_ERROR_NOT_READY", Errc::Busy},
    KnownCode{700, "CUDA_ERROR_ILLEGAL_ADDRESS", Errc::Lost},
    KnownCode{702, "CUDA_ERROR_LAUNCH_TIMEOUT", Errc::Lost},
    KnownCode{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", Errc::Lost},
    KnownCode{710, "CUDA_ERROR_ASSERT", Errc::Lost},
    KnownCode{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", Errc::InvalidArgument},
    KnownCode{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", Errc::InvalidArgument},
    KnownCode{714, "CUDA_ERROR_HARDWARE_STACK_ERROR", Errc::Lost},
    KnownCode{715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", Errc::Lost},
    KnownCode{716, "CUDA_ERROR_MISALIGNED_ADDRESS", Errc::Lost},
    KnownCode{717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", Errc::Lost},
    KnownCode{718, "CUDA_ERROR_INVALID_PC", Errc::Lost},
    KnownCode{719, "CUDA_ERROR_LAUNCH_FAILED", Errc::Lost},
    KnownCode{800, "CUDA_ERROR_NOT_PERMITTED", Errc::Permission},
    KnownCode{801, "CUDA_ERROR_NOT_SUPPORTED", Errc::Unsupported},
    KnownCode{802, "CUDA_ERROR_SYSTEM_NOT_READY", Errc::Busy},
    KnownCode{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", Errc::Unsupported},
    KnownCode{804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", Errc::Unsupported},
    KnownCode{805, "CUDA_ERROR_MPS_CONNECTION_FAILED", Errc::Busy},
    KnownCode{806, "CUDA_ERROR_MPS_RPC_FAILURE", Errc::Busy},
    KnownCode{807, "CUDA_ERROR_MPS_SERVER_NOT_READY", Errc::Busy},
    KnownCode{808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", Errc::Busy},
    KnownCode{809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", Errc::Busy},
    KnownCode{810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", Errc::Lost},
    KnownCode{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", Errc::Busy},
    KnownCode{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", Errc::Busy},
    KnownCode{905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", Errc::InvalidArgument},
    KnownCode{906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", Errc::Busy},
    KnownCode{907, "CUDA_ERROR_CAPTURED_EVENT", Errc::InvalidArgument},
};

} // namespace

Error failureOf(const char* symbol, Status status, std::uint64_t bytes) noexcept {
  const auto value = static_cast<std::uint32_t>(status);
  return codeError(Origin::Cuda, codes, symbol, value, bytes);
}

Error Functions::failure(const char* symbol, Status status, std::uint64_t bytes) const noexcept {
  Error error = failureOf(symbol, status, bytes);
  const char* named{}; // text of the driver's own, there as long as the process
  if(getErrorName(status, &named) == Status::Success && named)
    error.codeName = named;
  return error;
}

} // namespace rdmagpu::driver::cuda
