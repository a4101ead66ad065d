// Registers slots of host memory with a real RDMA device, and proves them through it:
//   verbs_device DEVICE [SLOTS BYTES]
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs_loopback.hpp>

#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

int fail(const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  for(const char* hint : error.hints())
    std::fprintf(stderr, "  %s\n", hint);
  return 1;
}

ibv_context* openNamed(const char* name) {
  int count{};
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* opened = nullptr;
  for(int i = 0; devices && i < count; ++i) {
    if(std::strcmp(ibv_get_device_name(devices[i]), name) == 0)
      opened = ibv_open_device(devices[i]);
  }
  if(devices)
    ibv_free_device_list(devices);
  return opened;
}

int proveSlots(ibv_pd* domain, const rdmagpu::RdmaGpuBufferConfig& config) {
  const auto buffer = rdmagpu::RdmaGpuBuffer::make(config);
  if(!buffer)
    return fail(buffer.error());
  const auto slots = rdmagpu::VerbsRegistration::make(domain, *buffer);
  if(!slots)
    return fail(slots.error());
  std::fputs(rdmagpu::describe(slots->attempts()).c_str(), stdout);
  auto peer = rdmagpu::VerbsLoopback::make(*slots);
  if(!peer)
    return fail(peer.error());
  const auto report = rdmagpu::verify(*buffer, *peer);
  if(!report)
    return fail(report.error());
  std::printf("%s: %u slots, write %s, read %s, by %s\n", report->peer, report->slots, name(report->write),
              name(report->read), name(report->proof.by));
  if(report->writeError.kind != rdmagpu::Errc::None)
    return fail(report->writeError);
  if(report->readError.kind != rdmagpu::Errc::None)
    return fail(report->readError);
  return report->write == rdmagpu::Answer::Yes && report->read == rdmagpu::Answer::Yes ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  if(argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: %s DEVICE [SLOTS BYTES]\n", argv[0]);
    return 2;
  }
  ibv_context* context = openNamed(argv[1]);
  ibv_pd* domain = context ? ibv_alloc_pd(context) : nullptr;
  if(!domain) {
    std::fprintf(stderr, "%s cannot be opened\n", argv[1]);
    return 1;
  }
  rdmagpu::RdmaGpuBufferConfig config{
      .api = rdmagpu::RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = 1 << 20};
  if(argc == 4) {
    config.slotCount = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
    config.frameBytes = std::strtoull(argv[3], nullptr, 10);
  }
  const int result = proveSlots(domain, config);
  const bool clean = ibv_dealloc_pd(domain) == 0 && ibv_close_device(context) == 0;
  return clean ? result : 1;
}
