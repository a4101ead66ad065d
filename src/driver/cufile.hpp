#pragma once
#include <driver/cuda.hpp>
#include <driver/fn.hpp>
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <cstdint>

/// NVIDIA's cuFile (GPUDirect Storage) as far as it is used here: our own spelling of its types, values and
/// exported names. No decisions.
namespace rdmagpu::driver::cufile {

/// CUfileOpError. Those that code here looks at; any other value may come too.
enum class OpError : std::int32_t {
  Success = 0,
  DriverNotInitialized = 5001,
  IoNotSupported = 5008,
  CudaDriverError = 5011, ///< CUfileError_t has CUDA's own.
  CudaPointerRangeError = 5014,
  InvalidFileType = 5018,
  InvalidFileOpenFlag = 5019,
  InvalidValue = 5022,
  MemoryAlreadyRegistered = 5023,
  MemoryNotRegistered = 5024,
  HandleNotRegistered = 5027,
  HandleAlreadyRegistered = 5028,
};

/// From here on a number is cuFile's own, and below errno's.
inline constexpr std::int64_t baseError = 5000;

/// CUfileError_t, which is returned by value. Without initialisers, for functions with C's linkage.
struct Status {
  OpError error;
  cuda::Status cuda;
};
static_assert(sizeof(Status) == 8);
constexpr Status notAvailable(Status) noexcept { return {OpError::DriverNotInitialized, {}}; }

/// What cuFileRead and cuFileWrite return: a count, -1 with errno, or an OpError below 0.
enum class Moved : std::int64_t {};
constexpr Moved notAvailable(Moved) noexcept { return Moved{-5001}; }

struct HandleObject;
using Handle = HandleObject*; ///< CUfileHandle_t

enum class HandleType : std::int32_t { OpaqueFd = 1 };

/// CUfileDescr_t
struct Descriptor {
  HandleType type{HandleType::OpaqueFd};
  union {
    std::int32_t fd;
    void* handle;
  };
  const void* operations{};
};
static_assert(sizeof(Descriptor) == 24 && offsetof(Descriptor, fd) == 8 &&
              offsetof(Descriptor, operations) == 16);

inline constexpr unsigned allowCompatMode = 1U << 1; ///< Of controlFlags: CU_FILE_ALLOW_COMPAT_MODE.
inline constexpr unsigned p2pSupported = 1U << 4;    ///< Of featureFlags: CU_FILE_P2P_SUPPORTED.

/// CUfileDrvProps_t
struct Properties {
  unsigned nvfsMajor{}; ///< Of nvidia-fs; 0.0: none.
  unsigned nvfsMinor{};
  std::size_t pollThreshold{};
  std::size_t maxDirectIo{};
  unsigned statusFlags{}; ///< A bit for each kind of storage that nvidia-fs can reach.
  unsigned controlFlags{};
  unsigned featureFlags{};
  unsigned maxDeviceCache{};
  unsigned perBufferCache{};
  unsigned maxDevicePinned{};
  unsigned maxBatchIo{};
  unsigned maxBatchTimeout{};
};
static_assert(sizeof(Properties) == 56 && offsetof(Properties, statusFlags) == 24 &&
              offsetof(Properties, featureFlags) == 32);

enum class BoolParameter : std::int32_t { ForceCompatMode = 2 };

/// What a call of cuFile's failed with.
Error failureOf(const char* symbol, Status, std::uint64_t bytes = 0) noexcept;
/// The same of cuFileRead and cuFileWrite: what they returned, and what errno was then.
Error failureOf(const char* symbol, Moved, int code, std::uint64_t bytes = 0) noexcept;

/// Every function that is called, once.
struct Functions {
  explicit Functions(SymbolSource& source) noexcept;

  template <class Function, class... Args>
  Result<void> call(std::uint64_t bytes, const Function& function, Args... args) const noexcept {
    const Status status = function(args...);
    if(status.error == OpError::Success)
      return {};
    return failureOf(function.symbol(), status, bytes);
  }

  Loader load;

  // clang-format off
  Fn<"cuFileDriverOpen", Status()> driverOpen{load};
  Fn<"cuFileDriverGetProperties", Status(Properties*)> driverGetProperties{load};
  Fn<"cuFileHandleRegister", Status(Handle*, Descriptor*)> handleRegister{load};
  Fn<"cuFileBufRegister", Status(const void*, std::size_t, int)> bufRegister{load};
  Fn<"cuFileBufDeregister", Status(const void*)> bufDeregister{load};
  Fn<"cuFileRead", Moved(Handle, void*, std::size_t, std::int64_t, std::int64_t)> read{load};
  Fn<"cuFileWrite", Moved(Handle, const void*, std::size_t, std::int64_t, std::int64_t)> write{load};
  Fn<"cuFileGetVersion", Status(int*), Need::Optional> getVersion{load};
  Fn<"cuFileGetParameterBool", Status(BoolParameter, bool*), Need::Optional> getParameterBool{load};
  // clang-format on
  void (*handleDeregister)(Handle); ///< cuFileHandleDeregister, the one that answers nothing.
};

} // namespace rdmagpu::driver::cufile
