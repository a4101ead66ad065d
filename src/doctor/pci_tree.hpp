#pragma once
#include <doctor/root.hpp>
#include <rdmagpu/doctor.hpp>
#include <rdmagpu/pci_address.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmagpu::doctor {

struct PciDevice {
  PciAddress address{};
  std::uint32_t vendor{};
  std::uint32_t device{};
  std::uint32_t classCode{}; ///< Class, subclass and interface, 8 bits each.
  std::string driver{};
  std::vector<std::string> path{}; ///< As in MachineDevice.

  std::uint32_t baseClass() const noexcept { return classCode >> 16; }
  std::uint32_t subclass() const noexcept { return classCode >> 8; }
};

struct PciBar {
  std::size_t index{};
  std::uint64_t start{};
  std::uint64_t bytes{}; ///< 0: there is none, or the firmware has found no room for it.

  /// Whether it can be the window on a GPU's memory: those on registers and doorbells have up to 64 MiB.
  bool isWindow() const noexcept { return bytes >= std::uint64_t{128} << 20; }
};

struct PciLink {
  std::string speed;
  std::int64_t width{};
  std::int64_t mostWidth{};
};

/// Which of the peer-to-peer requests a bridge sends up to the root instead of straight on.
enum class AcsRedirect : std::uint8_t { Unreadable, Off, On };

/// The kernel's list of PCI devices; what is rarely asked of one is read when asked.
class PciTree {
public:
  explicit PciTree(const Root& root);

  const std::vector<PciDevice>& devices() const noexcept { return m_devices; }
  const PciDevice* find(const std::string& id) const;
  PciBar bar(const PciAddress&, std::size_t index) const;
  /// The largest BAR. On a GPU that is the window on its memory, whose number differs: 0 on AMD's, on
  /// NVIDIA's 1 where the registers' own has 32 bits and 2 where it has 64, as from Hopper on.
  PciBar largestBar(const PciAddress&) const;
  PciLink link(const PciAddress&) const;
  int numaNode(const PciAddress&) const;
  /// "DMA", "DMA-FQ" or "identity"; empty: there is no IOMMU, or nobody tells.
  std::string iommuType(const PciAddress&) const;
  AcsRedirect acsRedirect(const std::string& bridge) const;

private:
  const Root& m_root;
  std::vector<PciDevice> m_devices;
};

/// How many parts the ways to two devices share, below the last host bridge that is on both.
Distance distance(const PciTree&, const PciDevice&, const PciDevice&);
/// The bridges below the last one that is on both ways: those whose ACS decides.
std::vector<std::string> bridgesBetween(const PciDevice&, const PciDevice&);

} // namespace rdmagpu::doctor
