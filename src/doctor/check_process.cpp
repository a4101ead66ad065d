#include <doctor/findings.hpp>

#include <algorithm>
#include <charconv>

namespace rdmagpu::doctor {
namespace {

/// The soft limit of that name; empty: unlimited, or nobody tells.
std::optional<std::int64_t> limit(std::string_view limits, std::string_view name) {
  const std::size_t at = limits.find(name);
  if(at == std::string_view::npos)
    return {};
  const auto fields = words(limits.substr(at + name.size(), 80));
  return fields.empty() ? std::nullopt : toNumber(fields.front());
}

bool mayLock(const Root& root) {
  constexpr unsigned capIpcLock = 14;
  const std::string status = root.read("/proc/self/status").value_or("");
  constexpr std::string_view key = "CapEff:\t";
  const std::size_t at = status.find(key);
  if(at == std::string::npos)
    return false;
  std::uint64_t capabilities{};
  std::from_chars(status.data() + at + key.size(), status.data() + status.size(), capabilities, 16);
  return (capabilities >> capIpcLock & 1U) != 0;
}

} // namespace

void checkProcess(const Machine& machine, Findings& findings) {
  const bool hasNic = std::any_of(machine.peers.begin(), machine.peers.end(), [](const MachinePeer& peer) {
    return peer.device.role == MachineRole::Nic;
  });
  const std::string limits = machine.root.read("/proc/self/limits").value_or("");
  constexpr std::int64_t enough = std::int64_t{64} << 20;
  const auto memlock = limit(limits, "Max locked memory");
  if(hasNic && memlock && *memlock < enough && !mayLock(machine.root))
    findings.add("memlock-low", "/proc/self/limits: Max locked memory " + std::to_string(*memlock));
  constexpr std::int64_t fewFiles = 256;
  const auto files = limit(limits, "Max open files");
  if(files && *files < fewFiles)
    findings.add("fd-limit", "/proc/self/limits: Max open files " + std::to_string(*files));
  constexpr std::int64_t defaultMaps = 65530;
  const auto maps = machine.root.number("/proc/sys/vm/max_map_count");
  if(hasNic && maps && *maps < defaultMaps)
    findings.add("max-map-count", "/proc/sys/vm/max_map_count: " + std::to_string(*maps));
}

} // namespace rdmagpu::doctor
