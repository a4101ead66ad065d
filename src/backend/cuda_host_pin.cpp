#include <backend/cuda_gpu.hpp>
#include <backend/cuda_host_pin.hpp>

namespace rdmagpu::backend::cuda {

Result<std::unique_ptr<HostPin>> HostPin::pin(void* data, std::size_t bytes,
                                              const RdmaGpuBufferConfig& config) {
  const auto driver = openDriver();
  if(!driver)
    return driver.error();
  const api::Functions& cuda = **driver;
  const auto ordinal = chooseGpu(cuda, config);
  if(!ordinal)
    return ordinal.error();
  const auto gpu = knownGpu(cuda, *ordinal);
  if(!gpu)
    return gpu.error();
  auto pin = std::make_unique<HostPin>(gpu->device, gpu->integrated);
  const auto context = pin->m_contexts.lasting();
  if(!context)
    return context.error();
  pin->m_context = *context;
  const auto pinned = runIn(*context, [&] {
    return cuda.call(bytes, cuda.memHostRegister, data, bytes, api::HostRegisterFlags::Portable);
  });
  if(!pinned) {
    Error error = pinned.error();
    error.device = *ordinal;
    return error;
  }
  pin->m_data = data;
  return pin;
}

HostPin::~HostPin() {
  if(!m_data || inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(runIn(m_context, [&] { return cuda.call(0, cuda.memHostUnregister, m_data); }));
}

} // namespace rdmagpu::backend::cuda
