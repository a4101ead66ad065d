#pragma once
#include <backend/cuda_context.hpp>
#include <backend/cuda_gpu.hpp>
#include <base/unique.hpp>
#include <os/fd.hpp>

#include <cstddef>
#include <optional>
#include <vector>

/// CUDA's two kinds of memory that a peer can reach, each owned by one object.
namespace rdmagpu::backend::cuda {

struct HandleTraits {
  using Type = api::MemHandle;
  static constexpr Type empty() noexcept { return {}; }
  static void close(Type) noexcept;
};
struct Range {
  api::DevicePtr address{};
  std::size_t bytes{};
  bool operator==(const Range&) const noexcept = default;
};
struct ReservationTraits {
  using Type = Range;
  static constexpr Type empty() noexcept { return {}; }
  static void close(Type) noexcept;
};
struct MappingTraits {
  using Type = Range;
  static constexpr Type empty() noexcept { return {}; }
  static void close(Type) noexcept;
};

/// Memory of the virtual memory management: one handle, mapped whole at one reservation. Needs no
/// context to be made, and none to be freed.
class VmmMemory {
public:
  /// At least `bytes`, shareable where this system allows that; a refusal of shareable memory is
  /// added to `tolerated`.
  static Result<VmmMemory> allocate(const Gpu&, GpuRdma, std::size_t bytes, std::vector<Error>& tolerated);
  /// What such memory is a multiple of.
  static Result<std::size_t> granularityOn(const Gpu&, GpuRdma);
  /// What another process shared. `bytes` is all of it.
  static Result<VmmMemory> import(os::Fd, std::size_t bytes);

  api::DevicePtr address() const noexcept { return m_reservation.get().address; }
  std::size_t bytes() const noexcept { return m_reservation.get().bytes; }
  std::size_t granularity() const noexcept { return m_granularity; }
  int ordinal() const noexcept { return m_ordinal; } ///< Of the GPU that it is on.
  bool shareable() const noexcept { return m_shareable; }
  Result<os::Fd> share() const;
  /// Lets the kernels and copies of that GPU use it.
  Result<void> grantAccess(int ordinal) const;
  /// Has synchronous copies and memsets of it end before they return: else one may before a peer can see what
  /// it wrote. Measured (driver 580): refused, in a context as without one.
  Result<void> setSyncMemops() const;

private:
  Result<void> create(std::size_t bytes, api::HandleType, bool rdma);
  Result<void> map(std::size_t bytes);

  Unique<HandleTraits> m_handle;
  Unique<ReservationTraits> m_reservation;
  Unique<MappingTraits> m_mapping; // last, so that it goes first
  std::size_t m_granularity{};
  int m_ordinal{};
  bool m_shareable{};
};

/// Memory of cuMemAlloc, which hands out pieces of larger blocks on 512-byte boundaries: a page more
/// than asked is taken, and an aligned address within it given out. Lives in a context, which its
/// ContextSource must keep for as long.
class PlainMemory {
public:
  static Result<PlainMemory> allocate(const ContextSource&, std::size_t bytes);
  PlainMemory(PlainMemory&& other) noexcept;
  PlainMemory& operator=(PlainMemory&&) = delete;
  ~PlainMemory();

  api::DevicePtr address() const noexcept { return m_aligned; }
  std::size_t bytes() const noexcept { return m_bytes; }
  Result<void> setSyncMemops() const; ///< See VmmMemory.

private:
  PlainMemory(const ContextSource& contexts, api::DevicePtr raw, std::size_t bytes) noexcept;

  const ContextSource* m_contexts;
  api::DevicePtr m_raw;
  api::DevicePtr m_aligned;
  std::size_t m_bytes;
};

Result<void> setSyncMemops(api::DevicePtr) noexcept;

/// Whether the driver says that a peer can reach that memory: asked of the memory, not of what it was
/// made with.
Result<void> checkCapable(const Gpu&, api::DevicePtr);

} // namespace rdmagpu::backend::cuda
