#include <doctor/findings.hpp>

namespace rdmagpu::doctor {
namespace {

bool contains(const std::string& text, const char* part) noexcept {
  return text.find(part) != std::string::npos;
}

bool isIntelClient(const Machine& machine) {
  return machine.cpuVendor == "GenuineIntel" && contains(machine.cpuModel, "Core");
}

bool isAmdClient(const Machine& machine) {
  return machine.cpuVendor == "AuthenticAMD" &&
         (contains(machine.cpuModel, "Ryzen") || contains(machine.cpuModel, "Threadripper"));
}

void checkAcs(const Machine& machine, const PciDevice& gpu, const PciDevice& peer, const Subject& subject,
              Findings& findings) {
  std::string redirecting;
  for(const std::string& bridge : bridgesBetween(gpu, peer)) {
    if(machine.pci.acsRedirect(bridge) == AcsRedirect::On)
      redirecting += " " + bridge;
  }
  if(!redirecting.empty())
    findings.add("acs-redirect", "config space, ACS control of" + redirecting, subject);
}

void checkPair(const Machine& machine, const Gpu& gpu, const MachinePeer& peer, Findings& findings) {
  const Subject subject{.gpu = gpu.device.id, .peer = peer.device.id};
  const Distance far = distance(machine.pci, *gpu.pci, *peer.pci);
  const std::string evidence = std::string{name(far)} + "; /proc/cpuinfo: " + machine.cpuModel;
  switch(far) {
  case Distance::SameSwitch:
    checkAcs(machine, *gpu.pci, *peer.pci, subject, findings);
    break;
  case Distance::SameHostBridge:
    if(isIntelClient(machine))
      findings.add("client-cpu-writes-only", evidence, subject);
    break;
  case Distance::OtherHostBridge:
    if(isIntelClient(machine))
      findings.add("client-cpu-writes-only", evidence, subject);
    if(isAmdClient(machine))
      findings.add("client-cpu-bridges", evidence, subject);
    break;
  case Distance::AcrossSockets:
    findings.add("across-sockets",
                 "numa_node: " + std::to_string(gpu.device.numaNode) + " of the GPU, " +
                     std::to_string(peer.device.numaNode) + " of the peer",
                 subject);
    break;
  case Distance::SameRootPort:
  case Distance::Unknown:
    break;
  }
}

} // namespace

void checkTopology(const Machine& machine, Findings& findings) {
  if(machine.virtualMachine)
    return;
  for(const Gpu& gpu : machine.gpus) {
    for(const MachinePeer& peer : machine.peers) {
      if(peer.pci && peer.route != Route::Host)
        checkPair(machine, gpu, peer, findings);
    }
  }
}

} // namespace rdmagpu::doctor
