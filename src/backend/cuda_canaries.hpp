#pragma once
#include <backend/canaries.hpp>
#include <backend/cuda_copies.hpp>
#include <backend/cuda_kernels.hpp>
#include <backend/cuda_kernels_ptx.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rdmagpu::backend::cuda {

struct PinnedTraits {
  using Type = void*;
  static constexpr Type empty() noexcept { return nullptr; }
  static void close(Type) noexcept;
};

/// Canaries of one region, looked at and laid by a kernel: one launch for all tasks of a start. The places
/// and what was there lie beside the slots, in GPU memory. What has changed the kernel writes to pinned host
/// memory, where whoever finishes waits for it, which is sooner there than the end of the kernel's stream:
/// that is waited for only where the GPU is long in coming.
class CudaCanaries final : public Canaries {
public:
  /// The region keeps the kernels and the memory at `base`, and outlives what is returned. `flush`: a peer's
  /// writes are not seen without one.
  static Result<std::unique_ptr<Canaries>> open(const Kernels&, api::DevicePtr base, bool flush,
                                                std::span<const CanarySlot>);

  CudaCanaries(const KernelInContext& sampler, bool flush) noexcept : m_sampler(sampler), m_flush(flush) {}
  CudaCanaries(CudaCanaries&&) = delete;
  ~CudaCanaries() override;

  bool isAsynchronous() const noexcept override { return true; }
  Result<void> start(std::span<const CanaryTask>) noexcept override;
  Result<Changed> finish(std::size_t slot) noexcept override;

private:
  struct Slot {
    SampleJob job{};        ///< The last one; an answer bears the lower half of its number.
    api::Stream stream{};   ///< Of the last start.
    std::uint64_t* words{}; ///< One for each 32 places: where `job.answer` is for the CPU.
    std::uint32_t* bits{};  ///< Of the last answer, in m_bits.
  };
  std::vector<SampledPlace> layOut(api::DevicePtr base, std::span<const CanarySlot>);
  Result<void> prepare(std::span<const SampledPlace>) noexcept;
  Result<void> upload(std::span<const SampledPlace>) noexcept;
  Result<void> pin(std::size_t words) noexcept;
  Result<void> endStrayKernels() noexcept;
  Result<void> launch(std::span<SampleJob, mostTasks>, std::size_t rows, api::Stream) noexcept;

  KernelInContext m_sampler;
  bool m_flush;
  Unique<ScratchTraits> m_tables;
  Unique<PinnedTraits> m_answers;
  std::vector<std::uint32_t> m_bits;
  Unique<StreamTraits> m_looks;
  Unique<StreamTraits>
      m_lays; // with a stream of their own they do not wait for looks of the ring's other side
  std::vector<Slot> m_slots;
  std::atomic<bool> m_mayRun{}; ///< A wait failed: a kernel may still come, and take changes for seen.
};

} // namespace rdmagpu::backend::cuda
