#include <doctor/findings.hpp>

#include <algorithm>

namespace rdmagpu::doctor {

void checkKernel(const Machine& machine, Findings& findings) {
  const Kernel& kernel = machine.kernel;
  if(kernel.major > 0 && !kernel.atLeast(5, 12)) {
    for(const MachinePeer& peer : machine.peers) {
      if(peer.device.role == MachineRole::Nic && !machine.gpus.empty())
        findings.add("kernel-too-old-for-dma-buf", "kernel " + kernel.release, {.peer = peer.device.id});
    }
  }
  for(const Gpu& gpu : machine.gpus) {
    if(isNvidia(gpu))
      continue;
    const Subject subject{.gpu = gpu.device.id};
    const auto p2pdma = kernel.has("CONFIG_PCI_P2PDMA");
    if(!p2pdma) {
      findings.add("kernel-config-unknown", "no config file of kernel " + kernel.release + " can be read",
                   {.gpu = gpu.device.id, .shown = kernel.release});
      continue;
    }
    if(!*p2pdma)
      findings.add("no-p2pdma", kernel.configFile, subject);
    if(!*kernel.has("CONFIG_DMABUF_MOVE_NOTIFY") && !kernel.atLeast(7, 1))
      findings.add("no-move-notify", kernel.configFile, subject);
    if(!*kernel.has("CONFIG_HSA_AMD_P2P"))
      findings.add("no-hsa-p2p", kernel.configFile, subject);
  }
}

} // namespace rdmagpu::doctor
