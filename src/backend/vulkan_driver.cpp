#include <backend/vulkan_driver.hpp>
#include <base/library_error.hpp>
#include <os/library.hpp>
#include <os/process.hpp>

#include <atomic>
#include <optional>

namespace rdmagpu::backend::vulkan {
namespace {

struct Driver {
  Result<os::Library> library = os::Library::open("libvulkan.so.1"); // what the functions' loader refers to
  Error absence{};
  std::optional<api::LoaderFunctions> functions;
  std::atomic<std::uint64_t> process{}; ///< The one that uses it; 0: none.

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

Result<const api::LoaderFunctions*> openDriver() noexcept {
  Driver& loaded = driver();
  if(loaded.absence.kind != Errc::None)
    return loaded.absence;
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  if(const auto own = checkProcess(); !own)
    return own.error();
  loaded.process.store(*process, std::memory_order_relaxed);
  return &*loaded.functions;
}

Result<void> checkProcess() noexcept {
  const std::uint64_t user = driver().process.load(std::memory_order_relaxed);
  if(user != 0 && user != os::currentProcess())
    return libraryError("vkCreateInstance", LibraryCode::ForkedChild);
  return {};
}

} // namespace rdmagpu::backend::vulkan
