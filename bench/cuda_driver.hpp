#pragma once
#include <driver/cuda.hpp>
#include <driver/nvml.hpp>

#include <cstdint>
#include <dlfcn.h>
#include <optional>
#include <string>

namespace rdmagpu::bench {

/// A library of NVIDIA's driver; without symbols where it is not installed.
class Library final : public SymbolSource {
public:
  explicit Library(const char* soname) noexcept : m_handle(dlopen(soname, RTLD_NOW)) {}
  void* find(const char* symbol) noexcept override { return m_handle ? dlsym(m_handle, symbol) : nullptr; }

private:
  void* m_handle;
};

/// CUDA's driver as a benchmark calls it, beside the library.
inline const driver::cuda::Functions& cuda() {
  static Library library{"libcuda.so.1"};
  static const driver::cuda::Functions functions{library};
  return functions;
}

/// How much of a GPU's BAR1 is in use, as the management library tells; empty where it does not.
inline std::optional<std::uint64_t> usedOfBar1(const std::string& busId) {
  namespace nvml = driver::nvml;
  static Library library{"libnvidia-ml.so.1"};
  static const nvml::Functions functions{library};
  nvml::Device device{};
  nvml::Bar1Memory bar1;
  const bool told = functions.init() == nvml::Status::Success &&
                    functions.deviceGetHandleByPciBusId(busId.c_str(), &device) == nvml::Status::Success &&
                    functions.deviceGetBar1MemoryInfo(device, &bar1) == nvml::Status::Success;
  return told ? std::optional{bar1.used} : std::nullopt;
}

/// Retains the first GPU's primary context and makes it current on this thread, for good: so nobody who is
/// measured pays for making it.
inline bool keepPrimaryContext() {
  namespace api = driver::cuda;
  driver::Loader load = cuda().load;
  const driver::Fn<"cuCtxSetCurrent", api::Status(api::Context)> setCurrent{load};
  api::Context context{};
  return cuda().primaryCtxRetain(&context, api::Device{}) == api::Status::Success &&
         setCurrent(context) == api::Status::Success;
}

} // namespace rdmagpu::bench
