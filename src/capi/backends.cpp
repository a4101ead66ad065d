#include <capi/call.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

extern "C" {

int rdmagpu_backends_create(rdmagpu_backends** list, rdmagpu_error* error) {
  return capi::create("rdmagpu_backends_create", list, error,
                      []() -> Result<std::vector<BackendInfo>> { return backends(); });
}

void rdmagpu_backends_destroy(rdmagpu_backends* list) { delete list; }

size_t rdmagpu_backends_count(const rdmagpu_backends* list) { return list ? list->value.size() : 0; }

bool rdmagpu_backends_get(const rdmagpu_backends* list, size_t index, rdmagpu_backend_info* info,
                          rdmagpu_error* reason) {
  if(index >= rdmagpu_backends_count(list))
    return false;
  const BackendInfo& backend = list->value[index];
  if(reason && !capi::write("rdmagpu_backends_get", capi::toC(backend.reason), reason))
    return false;
  return capi::write("rdmagpu_backends_get",
                     rdmagpu_backend_info{.struct_size = 0,
                                          .api = static_cast<int32_t>(backend.api),
                                          .available = backend.available ? 1U : 0U,
                                          .device_count = static_cast<uint32_t>(backend.devices.size())},
                     info)
      .has_value();
}

bool rdmagpu_backends_device(const rdmagpu_backends* list, size_t index, size_t device,
                             rdmagpu_device_info* info) {
  if(index >= rdmagpu_backends_count(list) || device >= list->value[index].devices.size())
    return false;
  const DeviceInfo& found = list->value[index].devices[device];
  return capi::write("rdmagpu_backends_device",
                     rdmagpu_device_info{.struct_size = 0,
                                         .rdma_capable = static_cast<int32_t>(found.rdmaCapable),
                                         .name = found.name.c_str(),
                                         .pci = capi::toC(found.pci)},
                     info)
      .has_value();
}

} // extern "C"
