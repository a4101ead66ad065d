#include <backend/loaded_driver.hpp>
#include <backend/vulkan_driver.hpp>
#include <os/process.hpp>

namespace rdmagpu::backend::vulkan {
namespace {

using Driver = LoadedDriver<api::LoaderFunctions>;

Driver& driver() noexcept {
#ifdef _WIN32
  static Driver loaded{"vulkan-1.dll"};
#else
  static Driver loaded{"libvulkan.so.1"};
#endif
  return loaded;
}

} // namespace

Result<const api::LoaderFunctions*> openDriver() noexcept {
  Driver& loaded = driver();
  if(loaded.absence().kind != Errc::None)
    return loaded.absence();
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  if(const auto own = checkProcess(); !own)
    return own.error();
  loaded.startUse(*process);
  return &loaded.functions();
}

Result<void> checkProcess() noexcept { return driver().checkProcess("vkCreateInstance"); }

} // namespace rdmagpu::backend::vulkan
