#include <program/cuda_api.hpp>

#include <dlfcn.h>

#include <cstdio>

namespace rdmagpu::testkit {
namespace {

class SharedLibrary final : public SymbolSource {
public:
  explicit SharedLibrary(void* handle) noexcept : m_handle(handle) {}
  void* find(const char* symbol) noexcept override { return dlsym(m_handle, symbol); }

private:
  void* m_handle; ///< Never closed: a driver does not survive it.
};

} // namespace

const CudaApi* openCuda() {
  void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if(!handle) {
    std::fprintf(stderr, "rdmagpu-testkit: %s\n", dlerror()); // NOLINT(concurrency-mt-unsafe): one thread
    return nullptr;
  }
  static SharedLibrary library{handle};
  static const CudaApi cuda{library};
  if(const char* missing = cuda.functions.load.missing()) {
    std::fprintf(stderr, "rdmagpu-testkit: this libcuda.so.1 has no %s\n", missing);
    return nullptr;
  }
  return &cuda;
}

} // namespace rdmagpu::testkit
