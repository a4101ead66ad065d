#pragma once
#include "failure.hpp"
#include "verify/verify_options.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmagpu::cli {

/// How a NIC has the slots, and through which port bytes go.
struct NicFacts {
  struct Attempt {
    std::string path; ///< "host-pages", "dma-buf", ...
    Error error;      ///< Kind None for the one that was taken, which is the last.
  };
  std::string device;
  unsigned port{};
  std::optional<std::uint32_t> gidIndex{};
  std::string gid{};     ///< Empty where there is none.
  std::string address{}; ///< Of a NIC of iWARP, which has one in the place of a GID.
  std::vector<Attempt> attempts{};
  std::string to{};  ///< The other host. Empty: it sends to itself.
  std::string pci{}; ///< Its address. Empty where no PCI device is behind it.
};

/// What a NIC has done for another host, by RDMA.
struct NicService {
  NicFacts nic; ///< Nothing is registered with it but its own memory: no attempts.
  std::string client;
  std::uint64_t written{}; ///< Bytes.
  std::uint64_t read{};
  Answer writeProven{};
  Answer readProven{};
};

/// An RDMA NIC as the peer of `verify`.
class Nic {
public:
  /// Opens the device, or says why not; in a build without libibverbs, that.
  static std::variant<std::unique_ptr<Nic>, Failure> open(const VerifyOptions&);

  virtual ~Nic() = default;
  /// Registers the slots and connects queue pairs. Before that there is neither peer nor facts.
  virtual std::optional<Failure> attach(const RdmaGpuBuffer&) = 0;
  virtual Peer& peer() noexcept = 0;
  /// Where it is on the PCI bus. Empty where no PCI device is behind it.
  virtual std::optional<PciAddress> pci() const = 0;
  virtual NicFacts facts() const = 0;
  /// Tells the other host, if there is one, what came of it.
  virtual std::optional<Failure> finish(const VerifyReport&) = 0;
  /// Waits for a client, and does what it asks for. Nothing need be attached.
  virtual std::variant<NicService, Failure> serve(const HostPort&) = 0;
};

} // namespace rdmagpu::cli
