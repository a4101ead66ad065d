#include <os/files.hpp>
#include <os/memory_budget.hpp>

#include <algorithm>
#include <string_view>

namespace rdmagpu::os {
namespace {

/// The two generations of control groups: where they are mounted, and what their files are called.
struct Hierarchy {
  const char* marker; ///< How its line of /proc/self/cgroup is recognised.
  const char* mount;
  const char* limit;
  const char* usage;
  const char* reclaimable; ///< The key in memory.stat of page cache that the kernel would give up first.
};
constexpr Hierarchy hierarchies[] = {
    {"0::", "/sys/fs/cgroup", "/memory.max", "/memory.current", "\ninactive_file"},
    {":memory:", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
     "\ntotal_inactive_file"},
};

/// The group's path in that hierarchy: "/" alone for the root group.
std::optional<std::string> groupPath(std::string_view cgroups, std::string_view marker) {
  while(!cgroups.empty()) {
    const std::size_t end = std::min(cgroups.find('\n'), cgroups.size());
    const std::string_view line = cgroups.substr(0, end);
    cgroups.remove_prefix(std::min(end + 1, cgroups.size()));
    const std::size_t at = line.find(marker);
    if(at != std::string_view::npos && (marker.front() == ':' || at == 0))
      return std::string{line.substr(at + marker.size())};
  }
  return {};
}

/// What one group leaves; nullopt when it sets no limit.
std::optional<std::uint64_t> roomIn(const std::string& group, const Hierarchy& hierarchy) {
  const auto limitText = readIfThere(group + hierarchy.limit);
  const auto usageText = readIfThere(group + hierarchy.usage);
  const auto limit = limitText ? numberAfter(*limitText, "") : std::nullopt; // "max" is no number
  const auto usage = usageText ? numberAfter(*usageText, "") : std::nullopt;
  if(!limit || !usage)
    return {};
  const auto stat = readIfThere(group + "/memory.stat");
  const std::uint64_t cache = stat ? numberAfter("\n" + *stat, hierarchy.reclaimable).value_or(0) : 0;
  const std::uint64_t held = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, held);
}

/// The least room in the group and all those above it.
std::optional<std::uint64_t> roomInGroups(const std::string& root, const Hierarchy& hierarchy) {
  const auto cgroups = readIfThere(root + "/proc/self/cgroup");
  auto path = cgroups ? groupPath(*cgroups, hierarchy.marker) : std::nullopt;
  if(!path)
    return {};
  std::optional<std::uint64_t> least;
  for(;;) {
    if(const auto room = roomIn(root + hierarchy.mount + *path, hierarchy))
      least = std::min(*room, least.value_or(*room));
    const std::size_t slash = path->rfind('/');
    if(path->empty() || slash == std::string::npos)
      return least;
    path->resize(slash);
  }
}

} // namespace

std::optional<std::uint64_t> memoryBudget(const std::string& root) {
  std::optional<std::uint64_t> least;
  if(const auto meminfo = readIfThere(root + "/proc/meminfo")) {
    if(const auto kilobytes = numberAfter(*meminfo, "MemAvailable:"))
      least = *kilobytes * 1024;
  }
  for(const Hierarchy& hierarchy : hierarchies) {
    if(const auto room = roomInGroups(root, hierarchy))
      least = std::min(*room, least.value_or(*room));
  }
  return least;
}

std::optional<std::uint64_t> hugePageBudget(const std::string& root) {
  const auto free = readIfThere(root + "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  const auto pages = free ? numberAfter(*free, "") : std::nullopt;
  if(!pages)
    return {};
  return *pages * 2 * 1024 * 1024;
}

} // namespace rdmagpu::os
