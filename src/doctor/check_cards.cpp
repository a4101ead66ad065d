#include <doctor/findings.hpp>

#include <algorithm>

namespace rdmagpu::doctor {
namespace {

void checkRdmaBuild(const Machine& machine, const MachinePeer& peer, const Subject& subject,
                    Findings& findings) {
  const std::string& driver = peer.device.driver;
  if(machine.nvidiaUsers.contains(driver))
    return;
  const std::string evidence = "/proc/modules: nvidia is not used by " + driver;
  if(driver != "ajantv2")
    findings.add("card-driver-rdma-unknown", evidence, subject);
  else if(!machine.nvidiaUsers.contains("ajardma"))
    findings.add("card-driver-without-rdma", evidence, subject);
}

} // namespace

void checkCards(const Machine& machine, Findings& findings) {
  for(const MachinePeer& peer : machine.peers) {
    if(peer.device.role != MachineRole::Card || machine.gpus.empty())
      continue;
    const Subject subject{.peer = peer.device.id, .shown = peer.device.name + " " + peer.device.id};
    const std::string driver = "/sys/bus/pci/devices/" + peer.device.id + "/driver: ";
    if(peer.device.driver.empty())
      findings.add("card-without-driver", driver + "none", subject);
    else if(peer.route == Route::Host)
      findings.add("card-host-only", driver + peer.device.driver, subject);
    else if(!machine.nvidia.version.empty())
      checkRdmaBuild(machine, peer, subject, findings);
    for(const Gpu& gpu : machine.gpus) {
      if(!isNvidia(gpu) && peer.route == Route::NvidiaP2p)
        findings.add("card-not-for-amd", driver + peer.device.driver,
                     {.gpu = gpu.device.id, .peer = peer.device.id, .shown = subject.shown});
    }
  }
}

} // namespace rdmagpu::doctor
