#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/verbs.hpp>
#include <rdmagpu/verbs_loopback.hpp>
#include <rdmagpu/verify.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

/// A proof between two hosts: one has the slots, the other one's NIC writes and reads them. The two tell each
/// other over TCP what a connection needs, and the bytes that are compared.
namespace rdmagpu {

struct VerbsRemoteOptions {
  std::uint8_t port{1};                      ///< Of the NIC.
  std::optional<std::uint32_t> gidIndex{};   ///< Empty: the GID of the address that TCP goes through, if any.
  std::chrono::milliseconds timeout{10'000}; ///< For the other host to answer each message.
};

/// The TCP port where none is named.
inline constexpr std::uint16_t verbsRemotePort = 18516;

/// The NIC of another host, where a VerbsServer runs, as the peer of verify(). In rdmagpu::verbs.
///
/// The registration must outlive it, and allow RemoteWrite and RemoteRead. Move-only; one transfer at a time.
/// A transfer that fails is an Error as the other host had it, and the next one goes through new queue pairs.
class RDMAGPU_API VerbsRemote final : public Peer {
public:
  static Result<VerbsRemote> connect(const VerbsRegistration&, const std::string& host,
                                     std::uint16_t tcpPort = verbsRemotePort, const VerbsRemoteOptions& = {});
  ~VerbsRemote() override;
  VerbsRemote(VerbsRemote&&) noexcept;
  VerbsRemote& operator=(VerbsRemote&&) noexcept;

  const char* name() const noexcept override; ///< "verbs:mlx5_0"
  /// Device where both NICs are hardware, else Software.
  Agent agent() const noexcept override;
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override;
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override;
  const VerbsPort& port() const noexcept;
  /// Tells the other host what came of it. Nothing can be transferred after that.
  Result<void> finish(Answer written, Answer read);

private:
  struct Impl;
  explicit VerbsRemote(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

/// What one client has had done.
struct VerbsServed {
  std::string client;      ///< Its address.
  VerbsPort port;          ///< Of the NIC that served it.
  std::uint64_t written{}; ///< Bytes, by RDMA WRITE.
  std::uint64_t read{};    ///< The same by RDMA READ.
  Answer writeProven{};    ///< As the client says.
  Answer readProven{};
};

/// The other side: waits for a VerbsRemote and does what it asks for with this host's NIC. It writes nothing
/// but the client's memory, and reads nothing else. There is no encryption and nobody is asked who he is: use
/// it in networks whose hosts are trusted.
class RDMAGPU_API VerbsServer {
public:
  /// An empty host: every address of this one. TCP port 0: one that is free.
  static Result<VerbsServer> listen(ibv_pd*, const std::string& host = "",
                                    std::uint16_t tcpPort = verbsRemotePort, const VerbsRemoteOptions& = {});
  ~VerbsServer();
  VerbsServer(VerbsServer&&) noexcept;
  VerbsServer& operator=(VerbsServer&&) noexcept;

  std::uint16_t tcpPort() const noexcept;
  /// Waits for a client for as long as it takes, and serves it to its end.
  Result<VerbsServed> serve();

private:
  struct Impl;
  explicit VerbsServer(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
