#include <doctor/findings.hpp>

#include <algorithm>

namespace rdmagpu::doctor {
namespace {

constexpr const char* clients = "/sys/kernel/mm/memory_peers";

void checkNic(const Machine& machine, const MachinePeer& peer, Findings& findings) {
  const Subject subject{.peer = peer.device.id, .shown = peer.device.name};
  if(!peer.pci) {
    findings.add("software-nic", "/sys/class/infiniband/" + peer.device.id + " has no PCI device",
                 {.peer = peer.device.id});
    return;
  }
  if(!peer.importsDmaBufs)
    findings.add("nic-no-dma-buf", "driver " + peer.device.driver, subject);
  const std::string ports = "/sys/class/infiniband/" + peer.device.name + "/ports";
  const auto names = machine.root.names(ports);
  const bool up = std::any_of(names.begin(), names.end(), [&](const std::string& port) {
    return machine.root.line(ports + "/" + port + "/state").find("ACTIVE") != std::string::npos;
  });
  if(!names.empty() && !up)
    findings.add("nic-port-down", ports + "/*/state", subject);
}

/// Where dma-bufs work, nobody needs peer memory, and its absence is not worth a word.
void checkNvidiaPeerMemory(const Machine& machine, Findings& findings) {
  const bool module = machine.hasModule("nvidia_peermem");
  const bool legacy = machine.hasModule("nv_peer_mem");
  const bool stackHasClients = machine.root.has(clients);
  if(legacy)
    findings.add("peermem-legacy", "/proc/modules: nv_peer_mem");
  if(!module && !legacy) {
    findings.add(stackHasClients ? "peermem-not-loaded" : "peermem-impossible",
                 std::string{"/proc/modules: no nvidia_peermem; "} + clients +
                     (stackHasClients ? " is there" : " is not there"));
    return;
  }
  if(machine.root.names(clients).empty())
    findings.add("peermem-unregistered", std::string{clients} + " lists nobody");
  const std::string version = machine.root.line("/sys/module/nvidia_peermem/version");
  if(!version.empty() && !machine.nvidia.version.empty() && version != machine.nvidia.version)
    findings.add("peermem-mismatch",
                 "/sys/module/nvidia_peermem/version: " + version + ", nvidia " + machine.nvidia.version);
}

void checkAmd(const Machine& machine, const Gpu& gpu, Findings& findings) {
  const std::string version = machine.root.line("/sys/module/amdgpu/version");
  const auto parts = words(version);
  const auto number = parts.empty() ? std::string_view{} : parts.front();
  int fields[3]{};
  std::size_t at = 0;
  for(int& field : fields) {
    field = static_cast<int>(toNumber(number.substr(std::min(at, number.size()))).value_or(0));
    at = number.find('.', std::min(at, number.size()));
    at = at == std::string_view::npos ? number.size() : at + 1;
  }
  const bool old =
      fields[0] < 6 || (fields[0] == 6 && (fields[1] < 14 || (fields[1] == 14 && fields[2] < 14)));
  if(!number.empty() && old)
    findings.add("amd-silent-host", "/sys/module/amdgpu/version: " + version, {.gpu = gpu.device.id});
}

/// Whether some NIC needs another way to some GPU than dma-bufs.
bool lacksDmaBufs(const Machine& machine, const Findings& findings) {
  for(const Gpu& gpu : machine.gpus) {
    for(const MachinePeer& peer : machine.peers) {
      if(peer.device.role == MachineRole::Nic && peer.pci &&
         verdictOn(findings, gpu.device.id, peer.device.id, Route::DmaBuf) >= Verdict::Staged)
        return true;
    }
  }
  return false;
}

} // namespace

void checkRdma(const Machine& machine, Findings& findings) {
  bool hasNic = false;
  for(const MachinePeer& peer : machine.peers) {
    if(peer.device.role != MachineRole::Nic || machine.gpus.empty())
      continue;
    hasNic |= peer.pci != nullptr;
    checkNic(machine, peer, findings);
  }
  for(const Gpu& gpu : machine.gpus) {
    if(!isNvidia(gpu) && !machine.peers.empty())
      checkAmd(machine, gpu, findings);
  }
  if(!hasNic)
    return;
  const auto nodes = machine.root.names("/dev/infiniband");
  if(std::none_of(nodes.begin(), nodes.end(), [](const std::string& n) { return n.starts_with("uverbs"); }))
    findings.add("rdma-nodes-missing", "/dev/infiniband");
  const bool nvidia = std::any_of(machine.gpus.begin(), machine.gpus.end(), isNvidia);
  const bool amd = !std::all_of(machine.gpus.begin(), machine.gpus.end(), isNvidia);
  const bool anyWithoutDmaBufs = lacksDmaBufs(machine, findings);
  if(nvidia && !machine.nvidia.version.empty() && (anyWithoutDmaBufs || machine.hasModule("nvidia_peermem")))
    checkNvidiaPeerMemory(machine, findings);
  if(amd && anyWithoutDmaBufs && !machine.root.has(std::string{clients} + "/amdkfd"))
    findings.add("amd-peermem-missing", std::string{clients} + "/amdkfd is not there");
}

} // namespace rdmagpu::doctor
