#include <base/guarded.hpp>
#include <base/log.hpp>
#include <os/error.hpp>
#include <os/pci.hpp>
#include <rdmagpu/verbs_device.hpp>

#include <infiniband/verbs.h>

#include <cerrno>
#include <utility>

namespace rdmagpu {
namespace {

Error refusal(const char* call, int code) noexcept { return os::error(Origin::Verbs, call, code); }

struct FreeList {
  void operator()(ibv_device** list) const noexcept { ibv_free_device_list(list); }
};
struct CloseDevice {
  void operator()(ibv_context* context) const noexcept {
    if(ibv_close_device(context) != 0)
      log(LogLevel::Failure, "an RDMA device could not be closed", refusal("ibv_close_device", errno));
  }
};
struct FreeDomain {
  void operator()(ibv_pd* domain) const noexcept {
    if(const int code = ibv_dealloc_pd(domain); code != 0)
      log(LogLevel::Failure, "a protection domain is still used", refusal("ibv_dealloc_pd", code));
  }
};

struct DeviceList {
  std::unique_ptr<ibv_device*, FreeList> list;
  std::vector<ibv_device*> devices;
};

Result<DeviceList> listDevices() {
  int count{};
  errno = 0;
  DeviceList found;
  found.list.reset(ibv_get_device_list(&count));
  if(!found.list)
    return refusal("ibv_get_device_list", errno);
  found.devices.assign(found.list.get(), found.list.get() + count);
  return found;
}

} // namespace

struct VerbsDevice::Impl {
  std::unique_ptr<ibv_context, CloseDevice> context;
  std::unique_ptr<ibv_pd, FreeDomain> domain;
};

VerbsDevice::VerbsDevice() noexcept = default;
VerbsDevice::~VerbsDevice() = default;
VerbsDevice::VerbsDevice(VerbsDevice&&) noexcept = default;
VerbsDevice& VerbsDevice::operator=(VerbsDevice&&) noexcept = default;

ibv_pd* VerbsDevice::domain() const noexcept { return m_impl ? m_impl->domain.get() : nullptr; }

std::optional<PciAddress> VerbsDevice::pci() const {
  return m_impl ? os::pciBehind(m_impl->context->device->ibdev_path) : std::nullopt;
}

Result<std::vector<std::string>> VerbsDevice::names() {
  return guarded("VerbsDevice::names", []() -> Result<std::vector<std::string>> {
    const auto found = listDevices();
    if(!found)
      return found.error();
    std::vector<std::string> names;
    for(ibv_device* device : found->devices)
      names.emplace_back(ibv_get_device_name(device));
    return names;
  });
}

Result<VerbsDevice> VerbsDevice::open(const std::string& name) {
  constexpr const char* call = "VerbsDevice::open";
  return guarded(call, [&]() -> Result<VerbsDevice> {
    const auto found = listDevices();
    if(!found)
      return found.error();
    for(ibv_device* device : found->devices) {
      if(name != ibv_get_device_name(device))
        continue;
      VerbsDevice made;
      made.m_impl = std::make_unique<Impl>();
      errno = 0;
      made.m_impl->context.reset(ibv_open_device(device));
      if(!made.m_impl->context)
        return refusal("ibv_open_device", errno);
      errno = 0;
      made.m_impl->domain.reset(ibv_alloc_pd(made.m_impl->context.get()));
      if(!made.m_impl->domain)
        return refusal("ibv_alloc_pd", errno);
      return made;
    }
    return libraryError(call, LibraryCode::NicNotFound);
  });
}

} // namespace rdmagpu
