#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace rdmagpu::cli {
namespace {

constexpr std::size_t widest = 100;
constexpr std::size_t deepest = 16;

std::string sizeText(std::uint64_t bytes) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  return bytes >= 1024 * mib ? fmt::format("{} GiB", bytes / (1024 * mib))
                             : fmt::format("{} MiB", bytes / mib);
}

} // namespace

std::string doctorDeviceText(const MachineDevice& device) {
  if(device.role == MachineRole::Bridge)
    return device.id;
  std::string text = fmt::format("{}  {} {}", device.id, name(device.role), device.name);
  if(device.bar)
    text += ", window " + sizeText(*device.bar);
  if(!device.link.empty())
    text += ", " + device.link;
  if(device.numaNode >= 0)
    text += fmt::format(", node {}", device.numaNode);
  return text + ", " + (device.driver.empty() ? "no driver" : device.driver);
}

std::vector<const MachineDevice*> doctorTreeOrder(const DoctorReport& report) {
  std::vector<const MachineDevice*> devices;
  for(const MachineDevice& device : report.devices)
    devices.push_back(&device);
  std::sort(devices.begin(), devices.end(), [](const MachineDevice* a, const MachineDevice* b) {
    return a->path == b->path ? a->id < b->id : a->path < b->path;
  });
  return devices;
}

std::string doctorTree(const DoctorReport& report) {
  std::string text;
  for(const MachineDevice* device : doctorTreeOrder(report)) {
    const std::size_t depth = device->path.empty() ? 0 : device->path.size() - 1;
    std::string line(std::min(depth, deepest) * 2, ' ');
    if(depth > 0)
      line.replace(line.size() - 2, 2, "+-");
    line += doctorDeviceText(*device);
    text += line.substr(0, widest) + '\n';
  }
  return text;
}

} // namespace rdmagpu::cli
