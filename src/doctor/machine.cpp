#include <doctor/machine.hpp>

namespace rdmagpu::doctor {
namespace {

/// The value behind "key : " of the first CPU.
std::string cpuField(std::string_view cpuinfo, std::string_view key) {
  for(const std::string_view row : lines(cpuinfo)) {
    if(row.starts_with(key) && row.find(':') != std::string_view::npos)
      return std::string{trim(row.substr(row.find(':') + 1))};
  }
  return {};
}

void readModules(Machine& machine) {
  const auto text = machine.root.read("/proc/modules", 1U << 20);
  for(const std::string_view row : lines(text ? std::string_view{*text} : std::string_view{})) {
    const auto fields = words(row);
    machine.modules.emplace(fields.front());
    if(fields.front() != "nvidia" || fields.size() < 4)
      continue;
    std::string_view users = fields[3];
    while(!users.empty() && users != "-") {
      const std::size_t end = std::min(users.find(','), users.size());
      machine.nvidiaUsers.emplace(users.substr(0, end));
      users.remove_prefix(std::min(end + 1, users.size()));
    }
  }
}

void readPlatform(Machine& machine) {
  const Root& root = machine.root;
  const std::string cpuinfo = root.read("/proc/cpuinfo", 8192).value_or("");
  machine.cpuVendor = cpuField(cpuinfo, "vendor_id");
  machine.cpuModel = cpuField(cpuinfo, "model name");
  machine.arm = !cpuField(cpuinfo, "CPU implementer").empty();
  machine.grace = machine.arm && cpuField(cpuinfo, "CPU part") == "0xd4f";
  machine.virtualMachine = cpuField(cpuinfo, "flags").find("hypervisor") != std::string::npos;
  machine.wsl = machine.kernel.release.find("icrosoft") != std::string::npos || root.has("/dev/dxg");
  machine.jetson = root.line("/proc/device-tree/model").find("Jetson") != std::string::npos;
  machine.container = root.has("/.dockerenv") || root.has("/run/.containerenv");
}

} // namespace

Machine::Machine(const std::string& prefix, Recording* recording)
    : root(prefix, recording), pci(root), kernel(readKernel(root)), nvidia(readNvidiaDriver(root)) {
  readModules(*this);
  readPlatform(*this);
  gpus = findGpus(*this);
  peers = findPeers(*this);
}

} // namespace rdmagpu::doctor
