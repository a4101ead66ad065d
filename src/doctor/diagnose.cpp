#include <base/library_error.hpp>
#include <doctor/findings.hpp>
#include <doctor/steps.hpp>
#include <os/tree.hpp>
#include <rdmagpu/doctor.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace rdmagpu {
namespace doctor {
namespace {

constexpr const char* call = "diagnose";

bool isNamed(const MachineDevice& device, const std::string& wanted) {
  if(device.id == wanted || (device.role == MachineRole::Nic && device.name == wanted))
    return true;
  const auto address = PciAddress::parse(wanted);
  return address && PciAddress::parse(device.id) == address;
}

/// Keeps only what is named; false where nothing has that name.
template <class Device>
bool narrow(std::vector<Device>& devices, const std::string& wanted) {
  if(wanted.empty())
    return true;
  std::erase_if(devices, [&](const Device& device) { return !isNamed(device.device, wanted); });
  return !devices.empty();
}

/// The GPUs, the peers, and the bridges on the way to them.
std::vector<MachineDevice> devicesOf(const Machine& machine) {
  std::vector<MachineDevice> devices;
  for(const Gpu& gpu : machine.gpus)
    devices.push_back(gpu.device);
  for(const MachinePeer& peer : machine.peers)
    devices.push_back(peer.device);
  const std::size_t ends = devices.size();
  for(std::size_t i = 0; i < ends; ++i) {
    const auto path = devices[i].path;
    for(std::size_t depth = 0; depth + 1 < path.size(); ++depth) {
      const auto known = std::any_of(devices.begin(), devices.end(),
                                     [&](const MachineDevice& device) { return device.id == path[depth]; });
      if(known)
        continue;
      const auto end = path.begin() + static_cast<std::ptrdiff_t>(depth) + 1;
      devices.push_back({.role = MachineRole::Bridge, .id = path[depth], .path = {path.begin(), end}});
    }
  }
  return devices;
}

std::vector<std::string> whatRootWouldAdd(const Machine& machine) {
  for(const Gpu& gpu : machine.gpus) {
    for(const MachinePeer& peer : machine.peers) {
      if(!peer.pci || distance(machine.pci, *gpu.pci, *peer.pci) != Distance::SameSwitch)
        continue;
      for(const std::string& bridge : bridgesBetween(*gpu.pci, *peer.pci)) {
        if(machine.pci.acsRedirect(bridge) == AcsRedirect::Unreadable)
          return {"ACS of the bridges between GPU and peer, in their config space"};
      }
    }
  }
  return {};
}

std::string driverText(const NvidiaDriver& driver) {
  return driver.version.empty() ? "" : driver.version + (driver.open ? " (open)" : " (proprietary)");
}

DoctorReport examine(const Machine& machine, std::vector<DoctorStep> steps) {
  Findings findings{std::move(steps)};
  for(const auto check : {checkSteps, checkPlatform, checkGpus, checkNvidia, checkKernel, checkIommu,
                          checkTopology, checkCards, checkRdma, checkProcess})
    check(machine, findings);
  DoctorReport report{.verdict = Verdict::Blocked,
                      .kernel = machine.kernel.release,
                      .driver = driverText(machine.nvidia),
                      .findings = worthTelling(machine, findings),
                      .steps = findings.steps,
                      .pairs = judge(machine, findings),
                      .devices = devicesOf(machine),
                      .rootWouldAdd = whatRootWouldAdd(machine)};
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  for(const PairVerdict& pair : report.pairs)
    report.verdict = std::min(report.verdict, pair.verdict);
  return report;
}

} // namespace
} // namespace doctor

Result<DoctorReport> diagnose(const DoctorOptions& options) try {
  if(!os::isToldInFiles)
    return libraryError(doctor::call, LibraryCode::PlatformLacks);
  doctor::Machine machine(options.root);
  if(!doctor::narrow(machine.gpus, options.gpu))
    return libraryError(doctor::call, LibraryCode::NoSuchGpu);
  if(!doctor::narrow(machine.peers, options.peer))
    return libraryError(doctor::call, LibraryCode::NoSuchPeer);
  auto steps = doctor::stepsOf(machine, options);
  if(!steps)
    return steps.error();
  return doctor::examine(machine, *std::move(steps));
} catch(const std::bad_alloc&) {
  return libraryError(doctor::call, LibraryCode::OutOfMemory);
}

} // namespace rdmagpu
