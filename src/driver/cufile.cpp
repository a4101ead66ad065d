#include <base/hints.hpp>
#include <driver/cufile.hpp>
#include <os/error.hpp>

#include <array>

namespace rdmagpu::driver::cufile {
namespace {

struct Code {
  std::int32_t value;
  const char* name;
  Errc kind;
};

constexpr std::array codes{
    Code{5001, "CU_FILE_DRIVER_NOT_INITIALIZED", Errc::NotFound},
    Code{5002, "CU_FILE_DRIVER_INVALID_PROPS", Errc::InvalidArgument},
    Code{5003, "CU_FILE_DRIVER_UNSUPPORTED_LIMIT", Errc::InvalidArgument},
    Code{5004, "CU_FILE_DRIVER_VERSION_MISMATCH", Errc::TooOld},
    Code{5005, "CU_FILE_DRIVER_VERSION_READ_ERROR", Errc::Internal},
    Code{5006, "CU_FILE_DRIVER_CLOSING", Errc::Lost},
    Code{5007, "CU_FILE_PLATFORM_NOT_SUPPORTED", Errc::Unsupported},
    Code{5008, "CU_FILE_IO_NOT_SUPPORTED", Errc::Unsupported},
    Code{5009, "CU_FILE_DEVICE_NOT_SUPPORTED", Errc::Unsupported},
    Code{5010, "CU_FILE_NVFS_DRIVER_ERROR", Errc::Internal},
    Code{5011, "CU_FILE_CUDA_DRIVER_ERROR", Errc::Internal},
    Code{5012, "CU_FILE_CUDA_POINTER_INVALID", Errc::InvalidArgument},
    Code{5013, "CU_FILE_CUDA_MEMORY_TYPE_INVALID", Errc::Unsupported},
    Code{5014, "CU_FILE_CUDA_POINTER_RANGE_ERROR", Errc::InvalidArgument},
    Code{5015, "CU_FILE_CUDA_CONTEXT_MISMATCH", Errc::InvalidArgument},
    Code{5016, "CU_FILE_INVALID_MAPPING_SIZE", Errc::OutOfMemory},
    Code{5017, "CU_FILE_INVALID_MAPPING_RANGE", Errc::InvalidArgument},
    Code{5018, "CU_FILE_INVALID_FILE_TYPE", Errc::Unsupported},
    Code{5019, "CU_FILE_INVALID_FILE_OPEN_FLAG", Errc::InvalidArgument},
    Code{5020, "CU_FILE_DIO_NOT_SET", Errc::InvalidArgument},
    Code{5022, "CU_FILE_INVALID_VALUE", Errc::InvalidArgument},
    Code{5023, "CU_FILE_MEMORY_ALREADY_REGISTERED", Errc::InvalidArgument},
    Code{5024, "CU_FILE_MEMORY_NOT_REGISTERED", Errc::InvalidArgument},
    Code{5025, "CU_FILE_PERMISSION_DENIED", Errc::Permission},
    Code{5026, "CU_FILE_DRIVER_ALREADY_OPEN", Errc::Busy},
    Code{5027, "CU_FILE_HANDLE_NOT_REGISTERED",
         Errc::Unsupported}, // of cuFileHandleRegister: its file system
    Code{5028, "CU_FILE_HANDLE_ALREADY_REGISTERED", Errc::InvalidArgument},
    Code{5029, "CU_FILE_DEVICE_NOT_FOUND", Errc::NotFound},
    Code{5030, "CU_FILE_INTERNAL_ERROR", Errc::Internal},
    Code{5031, "CU_FILE_GETNEWFD_FAILED", Errc::OutOfMemory},
    Code{5033, "CU_FILE_NVFS_SETUP_ERROR", Errc::Internal},
    Code{5034, "CU_FILE_IO_DISABLED", Errc::Unsupported},
    Code{5035, "CU_FILE_BATCH_SUBMIT_FAILED", Errc::Internal},
    Code{5036, "CU_FILE_GPU_MEMORY_PINNING_FAILED", Errc::OutOfMemory},
    Code{5037, "CU_FILE_BATCH_FULL", Errc::Busy},
    Code{5038, "CU_FILE_ASYNC_NOT_SUPPORTED", Errc::Unsupported},
    Code{5039, "CU_FILE_INTERNAL_BATCH_SETUP_ERROR", Errc::Busy},
    Code{5040, "CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR", Errc::Busy},
    Code{5041, "CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR", Errc::Busy},
    Code{5042, "CU_FILE_INTERNAL_BATCH_CANCEL_ERROR", Errc::Busy},
    Code{5043, "CU_FILE_NOMEM_ERROR", Errc::OutOfMemory},
    Code{5044, "CU_FILE_IO_ERROR", Errc::Internal},
    Code{5045, "CU_FILE_INTERNAL_BUF_REGISTER_ERROR", Errc::Internal},
    Code{5046, "CU_FILE_HASH_OPR_ERROR", Errc::Internal},
    Code{5047, "CU_FILE_INVALID_CONTEXT_ERROR", Errc::InvalidArgument},
    Code{5048, "CU_FILE_NVFS_INTERNAL_DRIVER_ERROR", Errc::Internal},
    Code{5049, "CU_FILE_BATCH_NOCOMPAT_ERROR", Errc::Unsupported},
};

} // namespace

Error failureOf(const char* symbol, Status status, std::uint64_t bytes) noexcept {
  if(status.error == OpError::CudaDriverError && status.cuda != cuda::Status::Success)
    return cuda::failureOf(symbol, status.cuda, bytes);
  const auto value = static_cast<std::int32_t>(status.error);
  const Hint* hint = findHint(Origin::CuFile, symbol, value);
  Error error{.kind = Errc::Internal,
              .origin = Origin::CuFile,
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
