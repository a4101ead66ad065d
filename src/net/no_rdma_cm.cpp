#include <net/rdma_cm.hpp>
#include <os/error.hpp>

#include <cerrno>

// In place of rdma_cm.cpp where librdmacm's header was not there: nothing could answer at run time.
namespace rdmagpu::net {

Result<std::unique_ptr<CmPair>> CmPair::make(ibv_pd*, std::uint8_t) {
  return os::error(Origin::Verbs, "VerbsLoopback::make", EOPNOTSUPP);
}

} // namespace rdmagpu::net
