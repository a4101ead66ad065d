#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/verbs.hpp>
#include <rdmagpu/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rdmagpu {

struct VerbsLoopbackOptions {
  std::uint8_t port{1};
  /// Of the port's table. Empty: on Ethernet the first of RoCE v2, or the first at all.
  std::optional<std::uint32_t> gidIndex{};
};

/// The port that a peer's queue pairs go through.
struct VerbsPort {
  std::string device;
  std::uint8_t port{};
  std::optional<std::uint32_t>
      gidIndex;          ///< Empty: it is addressed by its LID alone, as in an InfiniBand subnet.
  std::string gid;       ///< As an IPv6 address: "::ffff:10.0.0.1". Empty likewise.
  std::string address{}; ///< On iWARP, where no GID is an address: the one that it connects through.
};

/// An RDMA NIC as the peer of verify(): it sends to itself, through two connected queue pairs, RDMA WRITEs
/// into the slots and RDMA READs out of them, to and from host memory of its own. In rdmagpu::verbs.
///
/// The registration must outlive it, and allow RemoteWrite and RemoteRead. Move-only; one transfer at a time.
/// A transfer that fails is an Error with the completion's status, and the next one goes through a new pair.
/// NICs of iWARP connect through librdmacm, which is opened at run time, and through the address that their
/// network device has: gidIndex is of no matter there. In a build without librdmacm they are Unsupported.
class RDMAGPU_API VerbsLoopback final : public Peer {
public:
  static Result<VerbsLoopback> make(const VerbsRegistration&, const VerbsLoopbackOptions& = {});
  ~VerbsLoopback() override;
  VerbsLoopback(VerbsLoopback&&) noexcept;
  VerbsLoopback& operator=(VerbsLoopback&&) noexcept;

  const char* name() const noexcept override; ///< "verbs:mlx5_0"
  /// Device, or Software where no PCI or other device is behind it (rxe).
  Agent agent() const noexcept override;
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override;
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override;
  const VerbsPort& port() const noexcept;

private:
  struct Impl;
  explicit VerbsLoopback(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
