#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/pci_address.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct ibv_pd;

namespace rdmagpu {

/// An RDMA device that is open, with a protection domain of its own, for programs that have no code for verbs
/// themselves. In rdmagpu::verbs.
///
/// Must outlive what is registered or connected with its domain. Move-only; empty after a move.
class RDMAGPU_API VerbsDevice {
public:
  VerbsDevice() noexcept;
  ~VerbsDevice();
  VerbsDevice(VerbsDevice&&) noexcept;
  VerbsDevice& operator=(VerbsDevice&&) noexcept;

  /// The device of that name, as `rdma link` and `ibv_devices` show it.
  static Result<VerbsDevice> open(const std::string& name);
  /// Of all that are there.
  static Result<std::vector<std::string>> names();

  bool valid() const noexcept { return m_impl != nullptr; }
  ibv_pd* domain() const noexcept; ///< Null when not valid().
  /// Where it is on the PCI bus, for RdmaGpuBufferConfig::peer. Empty where no PCI device is behind it (rxe).
  std::optional<PciAddress> pci() const;

private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
