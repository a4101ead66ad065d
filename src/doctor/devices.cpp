#include <doctor/machine.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace rdmagpu::doctor {
namespace {

struct Vendor {
  std::uint32_t id;
  const char* name;
  MachineRole role;
  Route route;
};

#define RDMAGPU_VENDOR(id, name, role, route) Vendor{id, name, MachineRole::role, Route::route},
constexpr Vendor vendors[] = {
#include <doctor/vendors.def>
};
#undef RDMAGPU_VENDOR

/// Kernel drivers of NICs whose provider can register dma-bufs.
constexpr std::array dmaBufDrivers{"mlx5_core", "irdma", "ice", "efa", "mana", "bnxt_en", "ionic"};

constexpr std::uint32_t nvidiaId = 0x10de;
constexpr std::uint32_t amdId = 0x1002;
constexpr std::uint32_t displayClass = 0x03;
constexpr std::uint32_t acceleratorClass = 0x12;

std::string idText(const PciDevice& device) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04x:%04x", device.vendor, device.device);
  return text.data();
}

std::string linkText(const PciLink& link) {
  if(link.width <= 0 || link.width > 32)
    return {};
  return "x" + std::to_string(link.width) + " " +
         link.speed.substr(0, std::min<std::size_t>(link.speed.size(), 9));
}

MachineDevice describe(const Machine& machine, const PciDevice& device, MachineRole role, std::string name) {
  return {.role = role,
          .id = device.address.text(),
          .name = std::move(name),
          .driver = device.driver,
          .path = device.path,
          .numaNode = machine.pci.numaNode(device.address),
          .link = linkText(machine.pci.link(device.address))};
}

std::string nvidiaName(const Machine& machine, const PciDevice& device) {
  const auto text = machine.root.read("/proc/driver/nvidia/gpus/" + device.address.text() + "/information");
  for(const std::string_view row : lines(text ? std::string_view{*text} : std::string_view{})) {
    if(row.starts_with("Model:"))
      return std::string{trim(row.substr(6))};
  }
  return "NVIDIA " + idText(device);
}

/// The processor's own graphics have no window of their memory that is worth the name.
bool isGpu(const Machine& machine, const PciDevice& device) {
  const bool display = device.baseClass() == displayClass;
  if(device.vendor == nvidiaId)
    return display;
  return device.vendor == amdId && (display || device.baseClass() == acceleratorClass) &&
         machine.pci.largestBar(device.address).isWindow();
}

MachinePeer nic(const Machine& machine, const std::string& name) {
  const PciDevice* pci = machine.pci.find(machine.root.linkName("/sys/class/infiniband/" + name + "/device"));
  if(!pci)
    return {.device = {.role = MachineRole::Nic, .id = name, .name = "RDMA in software"}};
  MachinePeer peer{.device = describe(machine, *pci, MachineRole::Nic, name), .pci = pci};
  peer.importsDmaBufs = std::any_of(dmaBufDrivers.begin(), dmaBufDrivers.end(),
                                    [&](const char* known) { return pci->driver == known; });
  return peer;
}

} // namespace

std::vector<Gpu> findGpus(const Machine& machine) {
  std::vector<Gpu> gpus;
  for(const PciDevice& device : machine.pci.devices()) {
    if(!isGpu(machine, device))
      continue;
    const bool nvidia = device.vendor == nvidiaId;
    Gpu gpu{describe(machine, device, MachineRole::Gpu,
                     nvidia ? nvidiaName(machine, device) : "AMD " + idText(device)),
            &device};
    if(const PciBar largest = machine.pci.largestBar(device.address); largest.isWindow())
      gpu.device.bar = largest.bytes;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::vector<MachinePeer> findPeers(const Machine& machine) {
  std::vector<MachinePeer> peers;
  for(const std::string& name : machine.root.names("/sys/class/infiniband"))
    peers.push_back(nic(machine, name));
  for(const PciDevice& device : machine.pci.devices()) {
    for(const Vendor& vendor : vendors) {
      constexpr std::uint32_t bridgeClass = 0x06;
      if(device.vendor != vendor.id || device.baseClass() == bridgeClass)
        continue;
      peers.push_back({.device = describe(machine, device, vendor.role, vendor.name),
                       .pci = &device,
                       .route = vendor.route});
    }
  }
  return peers;
}

} // namespace rdmagpu::doctor
