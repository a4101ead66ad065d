#include <doctor/findings.hpp>

namespace rdmagpu::doctor {

void checkPlatform(const Machine& machine, Findings& findings) {
  if(machine.wsl)
    findings.add("wsl", "kernel " + machine.kernel.release);
  if(machine.jetson)
    findings.add("integrated-gpu",
                 "/proc/device-tree/model: " + machine.root.line("/proc/device-tree/model"));
  if(machine.grace && !machine.gpus.empty())
    findings.add("coherent-link", "/proc/cpuinfo: CPU part 0xd4f (Grace)");
  for(const char* node : {"/dev/sev-guest", "/dev/tdx_guest"}) {
    if(machine.root.has(node) && !machine.gpus.empty())
      findings.add("confidential-guest", std::string{node} + " is there");
  }
  if(machine.virtualMachine && !machine.gpus.empty()) {
    for(const MachinePeer& peer : machine.peers)
      findings.add("vm-topology-hidden", "/proc/cpuinfo: flags have 'hypervisor'", {.peer = peer.device.id});
  }
}

} // namespace rdmagpu::doctor
