#pragma once
#include <os/fd.hpp>
#include <os/mapping.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstddef>
#include <vector>

namespace rdmagpu::os {

inline constexpr std::size_t hugePageBytes = 2U << 20;

struct HostPagesRequest {
  std::size_t bytes{}; ///< A multiple of the page size and of 64 KiB.
  HostMemory options{};
  int peerNode = -1; ///< Where the peer is; used when the options name no node.
};

/// Host memory that a peer can be given: shared, 64 KiB aligned, resident, and locked where that is
/// wanted and allowed. Unmapped and closed on destruction.
class HostPages {
public:
  /// Allocates, binds to a node, populates and locks, in this order.
  static Result<HostPages> allocate(const HostPagesRequest&);
  /// Maps the memory of a memfd that came from another process, after checking that it cannot
  /// shrink under this one and holds at least `bytes`.
  static Result<HostPages> adopt(Fd, std::size_t bytes, PageLock);

  std::byte* data() const noexcept { return m_mapping.data(); }
  std::size_t size() const noexcept { return m_mapping.size(); }
  int fd() const noexcept { return m_fd.get(); } ///< -1 for anonymous memory.
  bool huge() const noexcept { return m_huge; }
  int node() const noexcept { return m_node; }
  bool locked() const noexcept { return m_locked; }
  const Error& lockError() const noexcept { return m_lockError; }
  const std::vector<Error>& tolerated() const noexcept { return m_tolerated; }

private:
  static Result<HostPages> acquire(const HostPagesRequest&, Mapping::Pages);
  Result<void> open(const HostPagesRequest&, std::size_t bytes, Mapping::Pages);
  Result<void> bind(const HostPagesRequest&);
  Result<void> settle(PageLock);

  Fd m_fd;
  Mapping m_mapping;
  bool m_huge{};
  bool m_locked{};
  int m_node = -1;
  Error m_lockError{};
  std::vector<Error> m_tolerated;
};

/// The page size of normal memory.
std::size_t pageBytes() noexcept;

} // namespace rdmagpu::os
