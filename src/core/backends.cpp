#include <backend/registry.hpp>
#include <rdmagpu/backends.hpp>

namespace rdmagpu {

std::vector<BackendInfo> backends() {
  std::vector<BackendInfo> found;
  for(const backend::Backend* backend : backend::all())
    found.push_back(backend->probe());
  return found;
}

} // namespace rdmagpu
