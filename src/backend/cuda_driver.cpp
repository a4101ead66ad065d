#include <backend/cuda_driver.hpp>
#include <backend/loaded_driver.hpp>
#include <base/log.hpp>
#include <os/library.hpp>
#include <os/process.hpp>

namespace rdmagpu::backend::cuda {
namespace {

#ifdef _WIN32
constexpr const char* soname = "nvcuda.dll";
#else
constexpr const char* soname = "libcuda.so.1";
#endif

using Driver = LoadedDriver<api::Functions>;

Driver& driver() noexcept {
  static Driver loaded{soname};
  return loaded;
}

} // namespace

Result<const api::Functions*> openDriver() noexcept {
  Driver& loaded = driver();
  if(loaded.absence().kind != Errc::None)
    return loaded.absence();
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  if(const auto own = checkProcess(); !own)
    return own.error();
  // Costs next to nothing when it was done before, and tells when the driver has gone since.
  if(const auto started = loaded.functions().call(0, loaded.functions().init, 0U); !started)
    return started.error();
  loaded.startUse(*process);
  return &loaded.functions();
}

const api::Functions& loadedDriver() noexcept { return driver().functions(); }

const api::Functions* driverOfThisProcess() noexcept {
  if(!os::Library::isLoaded(soname) || driver().absence().kind != Errc::None || inForkedChild())
    return nullptr;
  return &loadedDriver();
}

Result<void> checkProcess() noexcept { return driver().checkProcess("cuInit"); }

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
