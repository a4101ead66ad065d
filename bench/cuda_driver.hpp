#pragma once
#include <driver/cuda.hpp>

#include <dlfcn.h>

namespace rdmagpu::bench {

/// CUDA's driver as a benchmark calls it, beside the library.
inline const driver::cuda::Functions& cuda() {
  class Library final : public SymbolSource {
  public:
    void* find(const char* symbol) noexcept override { return m_handle ? dlsym(m_handle, symbol) : nullptr; }

  private:
    void* m_handle = dlopen("libcuda.so.1", RTLD_NOW);
  };
  static Library library;
  static const driver::cuda::Functions functions{library};
  return functions;
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
