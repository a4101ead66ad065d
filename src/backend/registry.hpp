#pragma once
#include <backend/backend.hpp>

#include <span>

namespace rdmagpu::backend {

#define RDMAGPU_BACKEND(api, file)                                                                           \
  namespace file {                                                                                           \
  const Backend& instance() noexcept;                                                                        \
  }
#include <backend/backends.def>
#undef RDMAGPU_BACKEND

/// Every backend of this build, in Auto's order of preference.
std::span<const Backend* const> all() noexcept;

/// The backend of that API; null when this build has none.
const Backend* find(RdmaGpuApi) noexcept;

} // namespace rdmagpu::backend
