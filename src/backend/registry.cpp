#include <backend/registry.hpp>

#include <array>

namespace rdmagpu::backend {

std::span<const Backend* const> all() noexcept {
#define RDMAGPU_BACKEND(api, file) &file::instance(),
  static const std::array backends{
#include <backend/backends.def>
  };
#undef RDMAGPU_BACKEND
  return backends;
}

const Backend* find(RdmaGpuApi api) noexcept {
  for(const Backend* backend : all()) {
    if(backend->api() == api)
      return backend;
  }
  return nullptr;
}

} // namespace rdmagpu::backend
