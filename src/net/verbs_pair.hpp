#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/verbs_loopback.hpp>

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

namespace rdmagpu::net {

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

/// Two queue pairs of one device, connected with each other.
class ConnectedPair {
public:
  static Result<ConnectedPair> make(ibv_pd*, const VerbsLoopbackOptions&);

  /// Posts one transfer and waits for its completion. After a failure the pair is of no use any more.
  Result<void> run(const Transfer&);
  std::uint32_t maxMessage() const noexcept { return m_maxMessage; }

private:
  std::unique_ptr<ibv_cq, DestroyQueue> m_completions;
  std::unique_ptr<ibv_qp, DestroyQueue> m_sender;
  std::unique_ptr<ibv_qp, DestroyQueue> m_target;
  std::uint32_t m_maxMessage{};
};

} // namespace rdmagpu::net
