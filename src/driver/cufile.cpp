#include <base/known_code.hpp>
#include <driver/cufile.hpp>
#include <os/error.hpp>

#include <array>

namespace rdmagpu::driver::cufile {
namespace {

constexpr std::array codes{
    KnownCode{5001, "CU_FILE_DRIVER_NOT_INITIALIZED", Errc::NotFound},
    KnownCode{5002, "CU_FILE_DRIVER_INVALID_PROPS", Errc::InvalidArgument},
    KnownCode{5003, "CU_FILE_DRIVER_UNSUPPORTED_LIMIT", Errc::InvalidArgument},
    KnownCode{5004, "CU_FILE_DRIVER_VERSION_MISMATCH", Errc::TooOld},
    KnownCode{5005, "CU_FILE_DRIVER_VERSION_READ_ERROR", Errc::Internal},
    KnownCode{5006, "CU_FILE_DRIVER_CLOSING", Errc::Lost},
    KnownCode{5007, "CU_FILE_PLATFORM_NOT_SUPPORTED", Errc::Unsupported},
    KnownCode{5008, "CU_FILE_IO_NOT_SUPPORTED", Errc::Unsupported},
    KnownCode{5009, "CU_FILE_DEVICE_NOT_SUPPORTED", Errc::Unsupported},
    KnownCode{5010, "CU_FILE_NVFS_DRIVER_ERROR", Errc::Internal},
    KnownCode{5011, "CU_FILE_CUDA_DRIVER_ERROR", Errc::Internal},
    KnownCode{5012, "CU_FILE_CUDA_POINTER_INVALID", Errc::InvalidArgument},
    KnownCode{5013, "CU_FILE_CUDA_MEMORY_TYPE_INVALID", Errc::Unsupported},
    KnownCode{5014, "CU_FILE_CUDA_POINTER_RANGE_ERROR", Errc::InvalidArgument},
    KnownCode{5015, "CU_FILE_CUDA_CONTEXT_MISMATCH", Errc::InvalidArgument},
    KnownCode{5016, "CU_FILE_INVALID_MAPPING_SIZE", Errc::OutOfMemory},
    KnownCode{5017, "CU_FILE_INVALID_MAPPING_RANGE", Errc::InvalidArgument},
    KnownCode{5018, "CU_FILE_INVALID_FILE_TYPE", Errc::Unsupported},
    KnownCode{5019, "CU_FILE_INVALID_FILE_OPEN_FLAG", Errc::InvalidArgument},
    KnownCode{5020, "CU_FILE_DIO_NOT_SET", Errc::InvalidArgument},
    KnownCode{5022, "CU_FILE_INVALID_VALUE", Errc::InvalidArgument},
    KnownCode{5023, "CU_FILE_MEMORY_ALREADY_REGISTERED", Errc::InvalidArgument},
    KnownCode{5024, "CU_FILE_MEMORY_NOT_REGISTERED", Errc::InvalidArgument},
    KnownCode{5025, "CU_FILE_PERMISSION_DENIED", Errc::Permission},
    KnownCode{5026, "CU_FILE_DRIVER_ALREADY_OPEN", Errc::Busy},
    KnownCode{5027, "CU_FILE_HANDLE_NOT_REGISTERED",
              Errc::Unsupported}, // of cuFileHandleRegister: its file system
    KnownCode{5028, "CU_FILE_HANDLE_ALREADY_REGISTERED", Errc::InvalidArgument},
    KnownCode{5029, "CU_FILE_DEVICE_NOT_FOUND", Errc::NotFound},
    KnownCode{5030, "CU_FILE_INTERNAL_ERROR", Errc::Internal},
    KnownCode{5031, "CU_FILE_GETNEWFD_FAILED", Errc::OutOfMemory},
    KnownCode{5033, "CU_FILE_NVFS_SETUP_ERROR", Errc::Internal},
    KnownCode{5034, "CU_FILE_IO_DISABLED", Errc::Unsupported},
    KnownCode{5035, "CU_FILE_BATCH_SUBMIT_FAILED", Errc::Internal},
    KnownCode{5036, "CU_FILE_GPU_MEMORY_PINNING_FAILED", Errc::OutOfMemory},
    KnownCode{5037, "CU_FILE_BATCH_FULL", Errc::Busy},
    KnownCode{5038, "CU_FILE_ASYNC_NOT_SUPPORTED", Errc::Unsupported},
    KnownCode{5039, "CU_FILE_INTERNAL_BATCH_SETUP_ERROR", Errc::Busy},
    KnownCode{5040, "CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR", Errc::Busy},
    KnownCode{5041, "CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR", Errc::Busy},
    KnownCode{5042, "CU_FILE_INTERNAL_BATCH_CANCEL_ERROR", Errc::Busy},
    KnownCode{5043, "CU_FILE_NOMEM_ERROR", Errc::OutOfMemory},
    KnownCode{5044, "CU_FILE_IO_ERROR", Errc::Internal},
    KnownCode{5045, "CU_FILE_INTERNAL_BUF_REGISTER_ERROR", Errc::Internal},
    KnownCode{5046, "CU_FILE_HASH_OPR_ERROR", Errc::Internal},
    KnownCode{5047, "CU_FILE_INVALID_CONTEXT_ERROR", Errc::InvalidArgument},
    KnownCode{5048, "CU_FILE_NVFS_INTERNAL_DRIVER_ERROR", Errc::Internal},
    KnownCode{5049, "CU_FILE_BATCH_NOCOMPAT_ERROR", Errc::Unsupported},
};

} // namespace

Error failureOf(const char* symbol, Status status, std::uint64_t bytes) noexcept {
  if(status.error == OpError::CudaDriverError && status.cuda != cuda::Status::Success)
    return cuda::failureOf(symbol, status.cuda, bytes);
  const auto value = static_cast<std::int32_t>(status.error);
  return codeError(Origin::CuFile, codes, symbol, value, bytes);
}

Error failureOf(const char* symbol, Moved moved, int code, std::uint64_t bytes) noexcept {
  const auto value = -static_cast<std::int64_t>(moved);
  if(value > baseError)
    return failureOf(symbol, Status{static_cast<OpError>(value), {}}, bytes);
  return os::error(symbol, value == 1 ? code : static_cast<int>(value), bytes);
}

Functions::Functions(SymbolSource& source) noexcept
    : load(source),
      // what a symbol table gives has no type
      handleDeregister(reinterpret_cast<void (*)(Handle)>(load("cuFileHandleDeregister", Need::Required))) {}

} // namespace rdmagpu::driver::cufile
