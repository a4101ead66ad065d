#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmagpu {

/// A device that a backend can allocate on.
struct DeviceInfo {
  std::string name{};
  std::optional<PciAddress> pci{}; ///< Empty for host memory.
  Answer rdmaCapable{};            ///< As its driver says; Unknown where there is none to ask.
};

/// A backend of this build, and what it finds on this machine.
struct BackendInfo {
  RdmaGpuApi api{};
  bool available{};
  Error reason{}; ///< Why it is not available; kind None when it is.
  std::vector<DeviceInfo> devices{};
};

/// Every backend of this build in Auto's order of preference. Creates nothing on any device. Like all
/// that returns a string or a vector by itself, it may throw std::bad_alloc, and nothing else.
RDMAGPU_API std::vector<BackendInfo> backends();

} // namespace rdmagpu
