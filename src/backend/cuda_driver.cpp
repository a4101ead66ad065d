#include <backend/cuda_driver.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>
#include <os/library.hpp>
#include <os/process.hpp>

#include <atomic>
#include <optional>

namespace rdmagpu::backend::cuda {
namespace {

constexpr const char* soname = "libcuda.so.1";

struct Driver {
  Result<os::Library> library = os::Library::open(soname); // what the functions' loader refers to
  Error absence{};
  std::optional<api::Functions> functions;
  std::atomic<std::uint64_t> process{}; ///< The one that has initialised it; 0: none.

  Driver() noexcept {
    if(!library) {
      absence = library.error();
      return;
    }
    functions.emplace(*library);
    if(const char* missing = functions->load.missing())
      absence = libraryError(missing, LibraryCode::DriverTooOld);
  }
};

Driver& driver() noexcept {
  static Driver loaded;
  return loaded;
}

} // namespace

Result<const api::Functions*> openDriver() noexcept {
  Driver& loaded = driver();
  if(loaded.absence.kind != Errc::None)
    return loaded.absence;
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  if(const auto own = checkProcess(); !own)
    return own.error();
  // Costs next to nothing when it was done before, and tells when the driver has gone since.
  if(const auto started = loaded.functions->call(0, loaded.functions->init, 0U); !started)
    return started.error();
  loaded.process.store(*process, std::memory_order_relaxed);
  return &*loaded.functions;
}

const api::Functions& loadedDriver() noexcept { return *driver().functions; }

const api::Functions* driverOfThisProcess() noexcept {
  if(!os::Library::isLoaded(soname) || driver().absence.kind != Errc::None || inForkedChild())
    return nullptr;
  return &loadedDriver();
}

Result<void> checkProcess() noexcept {
  const std::uint64_t initialised = driver().process.load(std::memory_order_relaxed);
  if(initialised != 0 && initialised != os::currentProcess())
    return libraryError("cuInit", LibraryCode::ForkedChild);
  return {};
}

void logRelease(const Result<void>& released) noexcept {
  if(released)
    return;
  const auto status = static_cast<api::Status>(released.error().code);
  const bool cuda = released.error().origin == Origin::Cuda;
  if(cuda && (status == api::Status::Deinitialized || status == api::Status::ContextIsDestroyed))
    return;
  log(LogLevel::Failure, "CUDA did not take back what was released", released.error());
}

} // namespace rdmagpu::backend::cuda
