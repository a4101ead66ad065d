#include <doctor/findings.hpp>

#include <algorithm>

namespace rdmagpu::doctor {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

void checkDriver(const Gpu& gpu, Findings& findings) {
  const MachineDevice& device = gpu.device;
  const Subject subject{.gpu = device.id};
  const std::string evidence =
      "/sys/bus/pci/devices/" + device.id + "/driver: " + (device.driver.empty() ? "none" : device.driver);
  if(device.driver == "vfio-pci")
    findings.add("gpu-given-away", evidence, subject);
  else if(device.driver == "nouveau" || device.driver == "nova_core")
    findings.add("nouveau", evidence, subject);
  else if(device.driver != "nvidia" && device.driver != "amdgpu")
    findings.add("gpu-without-driver", evidence, subject);
}

void checkModel(const Gpu& gpu, Findings& findings) {
  constexpr std::uint32_t firstTuring = 0x1e00;
  const MachineDevice& device = gpu.device;
  if(device.name.find("GeForce") != std::string::npos || device.name.find("TITAN") != std::string::npos)
    findings.add("geforce", "/proc/driver/nvidia/gpus/" + device.id + "/information: Model: " + device.name,
                 {.gpu = device.id});
  if(gpu.pci->device < firstTuring)
    findings.add("gpu-too-old-for-open", "PCI device id below 0x1e00: " + device.name, {.gpu = device.id});
}

void checkBar(const Machine& machine, const Gpu& gpu, Findings& findings) {
  const Subject subject{.gpu = gpu.device.id};
  const PciBar bar = machine.pci.largestBar(gpu.pci->address);
  const std::string evidence = "/sys/bus/pci/devices/" + gpu.device.id + "/resource, line " +
                               std::to_string(bar.index + 1) + ": " + std::to_string(bar.bytes / mib) +
                               " MiB";
  const bool listed = machine.root.has("/sys/bus/pci/devices/" + gpu.device.id + "/resource");
  if(listed && !bar.isWindow())
    findings.add("bar-unassigned", evidence, subject);
  else if(listed && bar.bytes <= 256 * mib)
    findings.add(isNvidia(gpu) ? "small-bar" : "no-large-bar", evidence, subject);
  if(!isNvidia(gpu) && (bar.start >> 44) != 0)
    findings.add("bar-above-44-bit", evidence, subject);
}

/// Both the card and the slot can have more lanes than the link has.
void checkLink(const Machine& machine, const MachineDevice& device, Findings& findings) {
  if(device.path.size() < 3 || machine.virtualMachine)
    return;
  const auto address = PciAddress::parse(device.id);
  const auto above = PciAddress::parse(device.path[device.path.size() - 2]);
  if(!address || !above)
    return;
  const PciLink link = machine.pci.link(*address);
  const auto most = std::min(link.mostWidth, machine.pci.link(*above).mostWidth);
  if(link.width > 0 && most <= 32 && link.width < most)
    findings.add("link-narrow",
                 "/sys/bus/pci/devices/" + device.id + "/current_link_width: " + std::to_string(link.width) +
                     ", both ends can have " + std::to_string(most),
                 {.shown = device.id});
}

} // namespace

void checkGpus(const Machine& machine, Findings& findings) {
  if(machine.gpus.empty() && !machine.jetson && !machine.wsl)
    findings.add("no-gpu", "/sys/bus/pci/devices: no device of class 0x03 by NVIDIA, and none by AMD");
  for(const Gpu& gpu : machine.gpus) {
    checkDriver(gpu, findings);
    checkBar(machine, gpu, findings);
    checkLink(machine, gpu.device, findings);
    if(isNvidia(gpu))
      checkModel(gpu, findings);
  }
  for(const MachinePeer& peer : machine.peers)
    checkLink(machine, peer.device, findings);
  for(const std::string& name : machine.root.names("/proc/driver/nvidia/capabilities")) {
    const std::string mig = "/proc/driver/nvidia/capabilities/" + name + "/mig";
    if(name.starts_with("gpu") && !machine.root.names(mig).empty())
      findings.add("mig", mig + " holds instances");
  }
}

} // namespace rdmagpu::doctor
