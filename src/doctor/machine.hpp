#pragma once
#include <doctor/pci_tree.hpp>
#include <doctor/root.hpp>
#include <rdmagpu/doctor.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::doctor {

struct Kernel {
  std::string release;
  int major{};
  int minor{};
  std::string config{}; ///< The text of its configuration; empty: no file of it can be read.
  std::string configFile{};

  bool atLeast(int wantedMajor, int wantedMinor) const noexcept {
    return major != wantedMajor ? major > wantedMajor : minor >= wantedMinor;
  }
  /// Whether an option is built in or a module; empty: nobody tells.
  std::optional<bool> has(std::string_view option) const;
};

struct NvidiaDriver {
  std::string version; ///< Of the kernel module; empty: it is not loaded.
  bool open{};
  std::string userVersion{}; ///< Of libcuda.so.1's file; empty: none or several.

  int major() const noexcept { return static_cast<int>(toNumber(version).value_or(0)); }
};

struct Gpu {
  MachineDevice device;
  const PciDevice* pci{};
};

struct MachinePeer {
  MachineDevice device;
  const PciDevice* pci{}; ///< Null: a NIC in software.
  Route route{Route::DmaBuf};
  bool importsDmaBufs{}; ///< Of a NIC: its driver is one of those that can.
};

/// What is known of a machine, read from under its root.
struct Machine {
  explicit Machine(const std::string& prefix, Recording* recording = nullptr);
  Machine(Machine&&) = delete; // its parts refer to each other

  bool hasModule(const std::string& name) const { return modules.contains(name); }

  Root root;
  PciTree pci;
  Kernel kernel;
  NvidiaDriver nvidia;
  std::set<std::string> modules;
  std::set<std::string> nvidiaUsers{}; ///< Modules that are bound to symbols of nvidia's.
  std::vector<Gpu> gpus{};
  std::vector<MachinePeer> peers{};
  std::string cpuVendor{};
  std::string cpuModel{};
  bool arm{};
  bool grace{};
  bool virtualMachine{};
  bool wsl{};
  bool jetson{};
  bool container{};
};

Kernel readKernel(const Root&);
NvidiaDriver readNvidiaDriver(const Root&);
std::vector<Gpu> findGpus(const Machine&);
std::vector<MachinePeer> findPeers(const Machine&);

} // namespace rdmagpu::doctor
