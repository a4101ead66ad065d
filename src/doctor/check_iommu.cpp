#include <doctor/findings.hpp>

namespace rdmagpu::doctor {

void checkIommu(const Machine& machine, Findings& findings) {
  if(machine.gpus.empty())
    return;
  for(const MachinePeer& peer : machine.peers) {
    if(!peer.pci || peer.route == Route::Host)
      continue;
    const std::string type = machine.pci.iommuType(peer.pci->address);
    if(!type.starts_with("DMA"))
      continue;
    findings.add(peer.route == Route::NvidiaP2p ? "iommu-blocks-p2p" : "iommu-translates",
                 "/sys/bus/pci/devices/" + peer.pci->address.text() +
                     "/iommu_group/type: " + type.substr(0, 16),
                 {.peer = peer.device.id});
  }
}

} // namespace rdmagpu::doctor
