#include <doctor/findings.hpp>

#include <algorithm>

namespace rdmagpu::doctor {
namespace {

constexpr const char* versionFile = "/proc/driver/nvidia/version: ";

void checkVersion(const Machine& machine, Findings& findings) {
  const NvidiaDriver& driver = machine.nvidia;
  const std::string version = versionFile + driver.version;
  if(!driver.userVersion.empty() && driver.userVersion != driver.version)
    findings.add("driver-mismatch", version + ", libcuda.so." + driver.userVersion);
  constexpr int firstWithDmaBufs = 515;
  if(driver.major() < firstWithDmaBufs)
    findings.add("driver-too-old-for-dma-buf", version);
  else if(!driver.open)
    findings.add("proprietary-driver", version + ", without the words Open Kernel Module");
  constexpr int firstWithoutPanic = 610;
  if(machine.hasModule("datadev") && driver.major() < firstWithoutPanic)
    findings.add("driver-panics-at-exit", version + "; module datadev is loaded");
}

/// The driver looks at the way between GPU and importer, on hosts of processors that it does not trust.
void checkTopologyOverride(const Machine& machine, Findings& findings) {
  const auto text = machine.root.read("/proc/driver/nvidia/params");
  constexpr std::string_view key = "GrdmaPciTopoCheckOverride: ";
  const std::size_t at = text ? text->find(key) : std::string::npos;
  const char value =
      at != std::string::npos && at + key.size() < text->size() ? (*text)[at + key.size()] : '0';
  const std::string evidence = std::string{"/proc/driver/nvidia/params: "}.append(key) + value;
  if(value == '2')
    findings.add("pci-topology-denied", evidence);
  if(!machine.arm || machine.virtualMachine)
    return;
  for(const Gpu& gpu : machine.gpus) {
    for(const MachinePeer& peer : machine.peers) {
      if(!isNvidia(gpu) || !peer.pci || distance(machine.pci, *gpu.pci, *peer.pci) == Distance::SameSwitch)
        continue;
      const Subject subject{.gpu = gpu.device.id, .peer = peer.device.id};
      if(value == '1')
        findings.add("pci-topology-overridden", evidence, subject);
      else if(value == '0')
        findings.add("pci-topology-refused", evidence + "; no common switch", subject);
    }
  }
}

} // namespace

void checkNvidia(const Machine& machine, Findings& findings) {
  if(machine.nvidia.version.empty() || !std::any_of(machine.gpus.begin(), machine.gpus.end(), isNvidia))
    return;
  checkVersion(machine, findings);
  checkTopologyOverride(machine, findings);
  if(machine.container && !machine.root.has("/dev/nvidiactl"))
    findings.add("nvidia-nodes-missing", "/dev/nvidiactl is not there");
}

} // namespace rdmagpu::doctor
