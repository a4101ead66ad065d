#include <backend/registry.hpp>
#include <doctor/findings.hpp>
#include <doctor/steps.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace rdmagpu::doctor {
namespace {

constexpr const char* wantsTry = "takes memory of the GPU: only with --try";

/// The steps with one GPU, each of which needs the one before.
class GpuTrial {
public:
  GpuTrial(const Machine& machine, const DoctorOptions& options, std::string gpu,
           std::vector<DoctorStep>& steps)
      : m_machine(machine), m_options(options), m_gpu(std::move(gpu)), m_steps(steps) {}

  Result<void> run(const BackendInfo& cuda) {
    if(!findDevice(cuda))
      return {};
    if(!m_options.tryMemory) {
      leave(StepKind::Allocation, wantsTry);
      return {};
    }
    const auto buffer = allocate();
    if(!buffer) {
      tell(StepKind::Allocation, Answer::No, buffer.error().message());
      leave(StepKind::Reach, "there is no allocation");
      return {};
    }
    const BufferFacts& facts = buffer->facts();
    tell(StepKind::Allocation, Answer::Yes, std::string{name(facts.cudaMemory)} + " memory");
    tell(StepKind::Reach, facts.rdmaCapable, "the driver's word on that memory");
    exportSlots(*buffer);
    return tryPeers(*buffer);
  }

private:
  void tell(StepKind kind, Answer result, std::string says) {
    m_steps.push_back({.kind = kind, .result = result, .gpu = m_gpu, .says = std::move(says)});
  }

  /// That step and those behind it are not tried.
  void leave(StepKind first, const char* why) {
    for(auto kind = static_cast<unsigned>(first); kind <= static_cast<unsigned>(StepKind::Read); ++kind)
      tell(static_cast<StepKind>(kind), Answer::Unknown, why);
  }

  bool findDevice(const BackendInfo& cuda) {
    const Error& reason = cuda.reason;
    const std::string_view rule = reason.codeName;
    if(rule == "DriverAbsent" || rule == "DriverTooOld" || rule == "ForkedChild") {
      tell(StepKind::DriverLibrary, Answer::No, reason.message());
      leave(StepKind::Device, "the driver's library is not there");
      return false;
    }
    tell(StepKind::DriverLibrary, Answer::Yes, "libcuda.so.1 is loaded");
    const auto found = std::find_if(cuda.devices.begin(), cuda.devices.end(), [&](const DeviceInfo& device) {
      return device.pci && device.pci->text() == m_gpu;
    });
    if(found == cuda.devices.end()) {
      tell(StepKind::Device, Answer::No,
           reason.kind != Errc::None ? reason.message() : "it is not among the devices that CUDA offers");
      leave(StepKind::Attributes, "the driver does not offer the GPU");
      return false;
    }
    tell(StepKind::Device, Answer::Yes, found->name);
    constexpr const char* attribute = "CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED";
    tell(StepKind::Attributes, found->rdmaCapable,
         found->rdmaCapable == Answer::Yes || reason.kind == Errc::None ? attribute : reason.message());
    return true;
  }

  Result<RdmaGpuBuffer> allocate() const {
    constexpr std::size_t slotBytes = 64 * 1024;
    RdmaGpuBufferConfig config{.api = RdmaGpuApi::Cuda, .slotCount = 2, .frameBytes = slotBytes};
    config.gpu.pci = PciAddress::parse(m_gpu);
    config.rdma = GpuRdma::Try; // what peers reach is the next step
    return RdmaGpuBuffer::make(config);
  }

  void exportSlots(const RdmaGpuBuffer& buffer) {
    const auto exported = buffer.exportRegion();
    m_exported = exported.has_value();
    m_steps.push_back({.kind = StepKind::Export,
                       .result = exported ? Answer::Yes : Answer::No,
                       .gpu = m_gpu,
                       .route = Route::DmaBuf,
                       .says = exported ? "a dma-buf of both slots" : exported.error().message()});
  }

  Result<void> tryPeers(const RdmaGpuBuffer& buffer) {
    bool any = false;
    for(const MachinePeer& peer : m_machine.peers) {
      any = true;
      if(peer.device.role != MachineRole::Nic)
        leavePeer(peer, "only the vendor's SDK can try its driver");
      else if(!m_options.peers)
        leavePeer(peer, "this build cannot try RDMA devices: it is without rdmagpu::verbs");
      else if(const auto tried = tryNic(buffer, peer); !tried)
        return tried.error();
    }
    if(!any)
      leave(StepKind::Registration, "there is no peer");
    return {};
  }

  void leavePeer(const MachinePeer& peer, const char* why) {
    for(const StepKind kind : {StepKind::Registration, StepKind::Write, StepKind::Read})
      m_steps.push_back(
          {.kind = kind, .gpu = m_gpu, .peer = peer.device.id, .route = peer.route, .says = why});
  }

  Result<void> tryNic(const RdmaGpuBuffer& buffer, const MachinePeer& peer) {
    auto tried = m_options.peers->tryPeer(buffer, peer.device.name.empty() || !peer.pci ? peer.device.id
                                                                                        : peer.device.name);
    if(!tried)
      return tried.error();
    for(DoctorStep& step : *tried) {
      step.gpu = m_gpu;
      step.peer = peer.device.id;
      // What could not be exported was not refused by the peer.
      if(step.route == Route::DmaBuf && !m_exported && step.result == Answer::No)
        step.result = Answer::Unknown;
      m_steps.push_back(std::move(step));
    }
    return {};
  }

  const Machine& m_machine;
  const DoctorOptions& m_options;
  std::string m_gpu;
  std::vector<DoctorStep>& m_steps;
  bool m_exported{};
};

/// NVIDIA's GPUs, those that the kernel lists first.
std::vector<std::string> gpusToTry(const Machine& machine, const DoctorOptions& options,
                                   const BackendInfo& cuda) {
  std::vector<std::string> gpus;
  for(const Gpu& gpu : machine.gpus) {
    if(isNvidia(gpu))
      gpus.push_back(gpu.device.id);
  }
  for(const DeviceInfo& device : cuda.devices) {
    if(device.pci && options.gpu.empty() &&
       std::find(gpus.begin(), gpus.end(), device.pci->text()) == gpus.end())
      gpus.push_back(device.pci->text());
  }
  return gpus;
}

} // namespace

Result<std::vector<DoctorStep>> trySteps(const Machine& machine, const DoctorOptions& options) {
  std::vector<DoctorStep> steps;
  for(const Gpu& gpu : machine.gpus) {
    if(!isNvidia(gpu))
      steps.push_back({.kind = StepKind::DriverLibrary,
                       .gpu = gpu.device.id,
                       .says = "this build has no backend for AMD's GPUs"});
  }
  const backend::Backend* cuda = backend::find(RdmaGpuApi::Cuda);
  if(!cuda)
    return steps;
  const BackendInfo found = cuda->probe();
  for(const std::string& gpu : gpusToTry(machine, options, found)) {
    GpuTrial trial(machine, options, gpu, steps);
    if(const auto ran = trial.run(found); !ran)
      return ran.error();
  }
  return steps;
}

} // namespace rdmagpu::doctor
