#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/verbs_loopback.hpp>

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>

namespace rdmagpu::net {

class CmPair;

struct DestroyQueue {
  void operator()(ibv_cq* queue) const noexcept { ibv_destroy_cq(queue); }
  void operator()(ibv_qp* pair) const noexcept { ibv_destroy_qp(pair); }
};

struct Transfer {
  ibv_wr_opcode opcode{};
  std::uint64_t local{};
  std::uint32_t lkey{};
  std::uint64_t remote{};
  std::uint32_t rkey{};
  std::uint32_t bytes{};
};

/// Posts one transfer and waits for its completion. After a failure the pair is of no use any more.
Result<void> runTransfer(ibv_qp*, ibv_cq*, const Transfer&);

/// What one end of a connection has to know of the other.
struct Endpoint {
  std::uint32_t pairNumber{};
  std::uint32_t firstPacket{}; ///< Its number, of 24 bits.
  std::uint32_t lid{};
  std::uint32_t mtu{}; ///< ibv_mtu
  std::uint32_t maxMessage{};
  bool global{}; ///< Addressed by `gid`; else by `lid` alone.
  ibv_gid gid{};
};

/// One end of a reliable connection through a port that is up.
class QueuePair {
public:
  /// `preferred` is taken where the port has that GID and the options name no other.
  static Result<QueuePair> make(ibv_pd*, const VerbsLoopbackOptions&, const ibv_gid* preferred = nullptr);

  const Endpoint& endpoint() const noexcept { return m_own; }
  VerbsPort port() const; ///< Allocates.
  Result<void> connect(const Endpoint& other, std::uint8_t hops);
  Result<void> run(const Transfer& transfer) {
    return runTransfer(m_pair.get(), m_completions.get(), transfer);
  }

private:
  std::unique_ptr<ibv_cq, DestroyQueue> m_completions;
  std::unique_ptr<ibv_qp, DestroyQueue> m_pair;
  Endpoint m_own;
  std::uint32_t m_gidIndex{};
  std::uint8_t m_port{};
};

/// The Error for a completion's status.
Error transferFailure(ibv_wr_opcode, std::int64_t status) noexcept;

/// Two queue pairs of one device, connected with each other.
class ConnectedPair {
public:
  static Result<ConnectedPair> make(ibv_pd*, const VerbsLoopbackOptions&);

  Result<void> run(const Transfer& transfer);
  std::uint32_t maxMessage() const noexcept { return m_maxMessage; }
  const VerbsPort& port() const noexcept { return m_port; }

private:
  static Result<ConnectedPair> byManager(ibv_pd*, const VerbsLoopbackOptions&);

  QueuePair m_sender;
  QueuePair m_target;
  std::shared_ptr<CmPair> m_managed; ///< iWARP: in the place of both.
  std::uint32_t m_maxMessage{};
  VerbsPort m_port;
};

/// Whether it connects through librdmacm only.
bool isIwarp(const ibv_pd&) noexcept;

/// Whether hardware is behind it, as far as the system knows.
bool isHardware(const ibv_device&);

} // namespace rdmagpu::net
