#pragma once
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// The ways in which a NIC can be told of memory; each is one call of libibverbs.
namespace rdmagpu::net {

/// What is to be registered: slots of one region.
struct Range {
  ibv_pd* domain{};
  const RdmaGpuBuffer& buffer;
  const VerbsOptions& options;
  std::size_t firstSlot{};
  std::size_t bytes{};
  std::uint64_t address{}; ///< 0 where the slots have none.
};

struct Registered {
  ibv_mr* region{};
  std::uint64_t iova{};
};

/// The paths to try, in that order; empty where the options leave none for memory of this kind.
std::vector<RegistrationPath> pathsFor(HandoffKind, const VerbsOptions&);

Result<Registered> registerBy(RegistrationPath, const Range&);

} // namespace rdmagpu::net
