#pragma once
#include <net/verbs_pair.hpp>
#include <rdmagpu/error.hpp>

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>

namespace rdmagpu::net {

/// Two queue pairs of one iWARP device, connected with each other by librdmacm, which is opened at run time:
/// iWARP has no other way. One of them moves bytes; the other, which accepted, may not send first.
class CmPair {
public:
  static Result<std::unique_ptr<CmPair>> make(ibv_pd*, std::uint8_t port);
  virtual ~CmPair() = default;

  virtual ibv_qp* sender() const noexcept = 0;
  virtual ibv_cq* completions() const noexcept = 0;
  /// The device's IP address, through which they are connected.
  virtual const std::string& address() const noexcept = 0;
};

} // namespace rdmagpu::net
