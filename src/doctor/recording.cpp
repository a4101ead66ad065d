#include <doctor/recording.hpp>
#include <doctor/root.hpp>
#include <os/tree.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace rdmagpu::doctor {
namespace {

using Links = std::map<std::string, std::string>;

std::vector<std::string> partsOf(std::string_view path) {
  std::vector<std::string> parts;
  while(!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if(end > 0 && path.substr(0, end) != ".")
      parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

/// Where a path leads with those links, in which no other link is any more; ".." ends at "/", and a loop
/// somewhere within it.
std::string resolve(const Links& links, const std::string& path) {
  std::vector<std::string> ahead = partsOf(path);
  std::reverse(ahead.begin(), ahead.end());
  std::vector<std::string> way;
  int hops = 0;
  while(!ahead.empty()) {
    const std::string part = ahead.back();
    ahead.pop_back();
    if(part == "..") {
      if(!way.empty())
        way.pop_back();
      continue;
    }
    way.push_back(part);
    std::string here;
    for(const std::string& one : way)
      here += "/" + one;
    constexpr int mostHops = 40;
    const auto link = links.find(here);
    if(link == links.end() || ++hops > mostHops)
      continue;
    way.pop_back();
    if(link->second.starts_with('/'))
      way.clear();
    auto parts = partsOf(link->second);
    ahead.insert(ahead.end(), parts.rbegin(), parts.rend());
  }
  std::string resolved;
  for(const std::string& one : way)
    resolved += "/" + one;
  return resolved;
}

std::string folderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string leafOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Of a device's config space what acsRedirect() looks at; its serial number lies there, too.
std::string withoutSerial(const std::string& space) {
  constexpr std::size_t extended = 0x100;
  constexpr std::size_t head = 4;
  constexpr unsigned char acs = 0x0d;
  std::string kept(space.size(), '\0');
  std::size_t at = extended;
  for(int hops = 0; hops < 64 && at >= extended && at + 2 * head <= space.size(); ++hops) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(space[at + i]); };
    const bool isAcs = byte(0) == acs && byte(1) == 0;
    kept.replace(at, head * (isAcs ? 2 : 1), space, at, head * (isAcs ? 2 : 1));
    at = static_cast<std::size_t>(byte(2) >> 4U) | static_cast<std::size_t>(byte(3)) << 4U;
  }
  return kept;
}

/// The lines that hold one of the words.
template <std::size_t count>
std::string linesWith(std::string_view text, const std::array<std::string_view, count>& needed) {
  std::string kept;
  for(const std::string_view row : lines(text)) {
    if(std::any_of(needed.begin(), needed.end(),
                   [&](std::string_view word) { return row.find(word) != std::string_view::npos; }))
      kept.append(row).append("\n");
  }
  return kept;
}

/// Without the addresses at which modules are loaded.
std::string modulesOnly(std::string_view text) {
  std::string kept;
  for(const std::string_view row : lines(text)) {
    const auto fields = words(row);
    for(std::size_t i = 0; i < std::min<std::size_t>(fields.size(), 4); ++i)
      kept.append(i > 0 ? " " : "").append(fields[i]);
    kept += "\n";
  }
  return kept;
}

bool isKernelConfig(const std::string& path) {
  return path.starts_with("/boot/config-") || path.ends_with("/.config") ||
         (path.find("/lib/modules/") != std::string::npos && path.ends_with("/config"));
}

/// What of a file is of use and may be shown.
std::string shown(const std::string& path, const std::string& text, Anonymiser& anonymiser) {
  constexpr std::array<std::string_view, 5> options{"Kernel Configuration", "P2P", "DMABUF", "IOMMU",
                                                    "INFINIBAND"};
  constexpr std::array<std::string_view, 1> capabilities{"CapEff"};
  if(path.starts_with("/sys/bus/pci/devices/") && path.ends_with("/config"))
    return withoutSerial(text);
  if(isKernelConfig(path))
    return "# " + path + "\n" + linesWith(text, options);
  if(path == "/proc/modules")
    return anonymiser.text(modulesOnly(text));
  if(path == "/proc/self/status")
    return linesWith(text, capabilities);
  return anonymiser.text(text);
}

std::string lexicallyRelative(const std::string& target, const std::string& folder) {
  return std::filesystem::path{target}.lexically_relative(folder.empty() ? "/" : folder).string();
}

} // namespace

void Recording::addFile(const std::string& path, std::string_view text) {
  std::string& known = m_files[path];
  if(known.size() <= text.size()) // the same is read in lines and as a whole
    known = text;
}

void Recording::addLink(const std::string& path, const std::string& target) { m_links[path] = target; }

void Recording::addPresence(const std::string& path) { m_present.insert(path); }

Result<void> Recording::write(const std::string& folder, Anonymiser anonymiser) const {
  if(const auto made = os::makeFolder(folder); !made)
    return made;
  Links links; // a folder's name comes before what is in it
  for(const auto& [path, target] : m_links) {
    const std::string clean = anonymiser.text(path);
    links[resolve(links, folderOf(clean)) + "/" + leafOf(clean)] = anonymiser.text(target);
  }
  for(const auto& [path, target] : links) {
    const std::string leads = resolve(links, path);
    const std::string shortest = leads == path ? leafOf(target) : lexicallyRelative(leads, folderOf(path));
    if(const auto made = os::makeLink(folder, path, shortest); !made)
      return made;
  }
  for(const auto& [path, text] : m_files) {
    const std::string file = resolve(links, anonymiser.text(path));
    if(const auto made = os::writeFile(folder, file, shown(path, text, anonymiser)); !made)
      return made;
  }
  for(auto path = m_present.rbegin(); path != m_present.rend();
      ++path) { // what is in a folder, then the folder
    const std::string clean = anonymiser.text(*path);
    const std::string file = resolve(links, folderOf(clean)) + "/" + leafOf(clean);
    if(os::isThere(folder + file))
      continue;
    if(const auto made = os::writeFile(folder, file, {}); !made)
      return made;
  }
  return {};
}

} // namespace rdmagpu::doctor
