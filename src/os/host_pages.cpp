#include <os/host_pages.hpp>

#include <utility>

namespace rdmagpu::os {

Result<HostPages> HostPages::allocate(const HostPagesRequest& request) {
  if(request.options.hugePages == HugePages::Off)
    return acquire(request, Mapping::Pages::Normal);
  auto huge = acquire(request, Mapping::Pages::Huge);
  if(huge || request.options.hugePages == HugePages::Require)
    return huge;
  auto normal = acquire(request, Mapping::Pages::Normal);
  if(normal)
    normal->m_tolerated.insert(normal->m_tolerated.begin(), huge.error());
  return normal;
}

} // namespace rdmagpu::os
