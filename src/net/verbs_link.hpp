#pragma once
#include <net/verbs_pair.hpp>
#include <net/verbs_wire.hpp>
#include <os/socket.hpp>
#include <rdmagpu/verbs_remote.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace rdmagpu::net {

enum class Role : std::uint8_t { Client, Server };

/// A TCP connection with another host, and a queue pair that is connected with one there.
class Link {
public:
  Link(ibv_pd* domain, const VerbsRemoteOptions& options, os::Fd socket, Role role) noexcept
      : m_domain(domain), m_options(options), m_socket(std::move(socket)), m_role(role) {}

  /// A queue pair in place of the one before. Both sides do so at the same time.
  Result<void> connectPairs();
  Result<void> send(std::span<const std::byte> bytes) const {
    return os::sendAll(m_socket.get(), bytes, m_options.timeout);
  }
  Result<void> receive(std::span<std::byte> bytes) const {
    return os::receiveAll(m_socket.get(), bytes, m_options.timeout);
  }
  /// The same for what may be a while in coming.
  Result<void> await(std::span<std::byte> bytes) const;

  QueuePair& pair() noexcept { return *m_pair; }
  /// That both sides can move at once.
  std::uint32_t maxMessage() const noexcept { return m_maxMessage; }
  bool hardware() const noexcept { return m_hardware; } ///< On both sides.
  int socket() const noexcept { return m_socket.get(); }

private:
  ibv_pd* m_domain;
  VerbsRemoteOptions m_options;
  os::Fd m_socket;
  Role m_role;
  std::optional<QueuePair> m_pair;
  std::uint32_t m_maxMessage{};
  bool m_hardware{};
};

} // namespace rdmagpu::net
