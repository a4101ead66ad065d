#include <doctor/pci_tree.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace rdmagpu::doctor {
namespace {

constexpr const char* folder = "/sys/bus/pci/devices/";
constexpr std::size_t mostParts = 64;

std::uint32_t hexadecimal(const Root& root, const std::string& path) {
  return static_cast<std::uint32_t>(root.number(path).value_or(0));
}

/// "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0", without what leads to the host bridge.
std::vector<std::string> wayOf(const std::string& link, const std::string& own) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while(begin <= link.size() && parts.size() < mostParts) {
    const std::size_t end = std::min(link.find('/', begin), link.size());
    std::string part = link.substr(begin, end - begin);
    if(!parts.empty() || part.starts_with("pci"))
      parts.push_back(std::move(part));
    begin = end + 1;
  }
  if(parts.empty() || parts.back() != own)
    return {};
  return parts;
}

bool isHostBridge(const std::string& part) noexcept { return part.starts_with("pci"); }

std::size_t sharedParts(const PciDevice& a, const PciDevice& b) {
  const auto parted = std::mismatch(a.path.begin(), a.path.end(), b.path.begin(), b.path.end()).first;
  return static_cast<std::size_t>(std::distance(a.path.begin(), parted));
}

std::uint32_t littleEndian(std::string_view bytes, std::size_t at, std::size_t count) noexcept {
  std::uint32_t value = 0;
  for(std::size_t i = 0; i < count; ++i)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

} // namespace

PciTree::PciTree(const Root& root) : m_root(root) {
  for(const std::string& name : root.names(folder)) {
    const auto address = PciAddress::parse(name);
    if(!address)
      continue;
    const std::string path = folder + name;
    m_devices.push_back({.address = *address,
                         .vendor = hexadecimal(root, path + "/vendor"),
                         .device = hexadecimal(root, path + "/device"),
                         .classCode = hexadecimal(root, path + "/class"),
                         .driver = root.linkName(path + "/driver"),
                         .path = wayOf(root.link(path), name)});
  }
}

const PciDevice* PciTree::find(const std::string& id) const {
  const auto address = PciAddress::parse(id);
  const auto found = std::find_if(m_devices.begin(), m_devices.end(),
                                  [&](const PciDevice& device) { return address == device.address; });
  return found == m_devices.end() ? nullptr : &*found;
}

PciBar PciTree::bar(const PciAddress& address, std::size_t index) const {
  const auto text = m_root.read(folder + address.text() + "/resource");
  const auto rows = lines(text ? std::string_view{*text} : std::string_view{});
  if(index >= rows.size())
    return {};
  std::array<std::uint64_t, 2> ends{};
  const auto fields = words(rows[index]);
  for(std::size_t i = 0; i < ends.size(); ++i) {
    if(i >= fields.size() || !fields[i].starts_with("0x"))
      return {};
    std::from_chars(fields[i].data() + 2, fields[i].data() + fields[i].size(), ends[i], 16);
  }
  return {.index = index, .start = ends[0], .bytes = ends[1] > ends[0] ? ends[1] - ends[0] + 1 : 0};
}

PciBar PciTree::largestBar(const PciAddress& address) const {
  constexpr std::size_t bars = 6; // the lines after those are of the ROM, and of virtual functions
  PciBar largest;
  for(std::size_t index = 0; index < bars; ++index) {
    const PciBar next = bar(address, index);
    if(next.bytes > largest.bytes)
      largest = next;
  }
  return largest;
}

PciLink PciTree::link(const PciAddress& address) const {
  const std::string path = folder + address.text();
  return {.speed = m_root.line(path + "/current_link_speed"),
          .width = m_root.number(path + "/current_link_width").value_or(0),
          .mostWidth = m_root.number(path + "/max_link_width").value_or(0)};
}

int PciTree::numaNode(const PciAddress& address) const {
  const auto node = m_root.number(folder + address.text() + "/numa_node").value_or(-1);
  return node >= 0 && node < 65536 ? static_cast<int>(node) : -1;
}

std::string PciTree::iommuType(const PciAddress& address) const {
  const std::string group = m_root.linkName(folder + address.text() + "/iommu_group");
  return group.empty() ? std::string{} : m_root.line("/sys/kernel/iommu_groups/" + group + "/type");
}

AcsRedirect PciTree::acsRedirect(const std::string& bridge) const {
  constexpr std::size_t extended = 0x100;
  constexpr std::uint32_t acs = 0x000d;
  constexpr std::uint32_t redirects = 0x4 | 0x8; // of requests and of completions
  const auto config = m_root.read(folder + bridge + "/config", 4096);
  if(!config || config->size() < extended + 4)
    return AcsRedirect::Unreadable;
  std::size_t at = extended;
  for(int hops = 0; hops < 64 && at >= extended && at + 8 <= config->size(); ++hops) {
    const std::uint32_t head = littleEndian(*config, at, 4);
    if((head & 0xffffU) == acs)
      return (littleEndian(*config, at + 6, 2) & redirects) != 0 ? AcsRedirect::On : AcsRedirect::Off;
    at = head >> 20;
  }
  return AcsRedirect::Off;
}

Distance distance(const PciTree& tree, const PciDevice& a, const PciDevice& b) {
  if(a.path.empty() || b.path.empty())
    return Distance::Unknown;
  const std::size_t shared = sharedParts(a, b);
  if(shared == 0) {
    const int nodeA = tree.numaNode(a.address);
    const int nodeB = tree.numaNode(b.address);
    return nodeA >= 0 && nodeB >= 0 && nodeA != nodeB ? Distance::AcrossSockets : Distance::OtherHostBridge;
  }
  const auto last = a.path.begin() + static_cast<std::ptrdiff_t>(shared);
  const auto bridges =
      std::distance(std::find_if(std::make_reverse_iterator(last), a.path.rend(), isHostBridge).base(), last);
  if(bridges == 0)
    return Distance::SameHostBridge;
  return bridges == 1 ? Distance::SameRootPort : Distance::SameSwitch;
}

std::vector<std::string> bridgesBetween(const PciDevice& a, const PciDevice& b) {
  std::vector<std::string> between;
  const std::size_t shared = sharedParts(a, b);
  for(const PciDevice* device : {&a, &b}) {
    for(std::size_t i = shared; i + 1 < device->path.size(); ++i) {
      if(!isHostBridge(device->path[i]))
        between.push_back(device->path[i]);
    }
  }
  return between;
}

} // namespace rdmagpu::doctor
