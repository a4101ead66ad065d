#pragma once
#include <backend/backend.hpp>
#include <backend/cuda_budget.hpp>
#include <backend/cuda_kernels.hpp>
#include <backend/cuda_memory.hpp>
#include <backend/vulkan_importer.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace rdmagpu::backend::cuda {

/// One allocation on a GPU, of either kind.
class CudaRegion final : public Region {
public:
  /// Allocates, checks that a peer can reach it, and clears it when the config says so.
  /// `vulkan`: where it is to be a buffer too, or null.
  static Result<RegionPtr> allocate(const Gpu&, const Bar1&, CudaMemory, const RegionRequest&,
                                    const VulkanImporter* vulkan);
  /// What another process shared, on whichever GPU it lies.
  static Result<RegionPtr> import(os::Fd, std::size_t bytes);

  CudaRegion(const Gpu& gpu, const Bar1& bar1) : m_gpu(gpu), m_bar1(bar1), m_contexts(gpu.device) {}
  ~CudaRegion() override;
  CudaRegion(CudaRegion&&) = delete;

  void* address(std::size_t offset) const noexcept override;
  Handoff handoff(std::size_t offset) const noexcept override { return CudaPointer{m_base + offset}; }
  std::optional<VulkanBuffer> vulkanBuffer(std::size_t offset) const noexcept override;
  Result<void> upload(std::size_t offset, std::span<const std::byte> from) const override;
  Result<void> download(std::size_t offset, std::span<std::byte> to) const override;
  Result<void> flushPeerWrites() const override;
  Result<void> runCurrent(const CurrentBody& body) const override {
    return m_contexts.run(Keep::Yes, [&] { return body(); });
  }
  Result<std::uint64_t> checksum(std::size_t offset, std::size_t bytes) const override;
  Result<void> poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const override;
  Result<void> clear(std::size_t offset, std::size_t bytes) const override;
  Result<ExportedFd> exportDmaBuf(std::size_t offset, std::size_t bytes) const override;
  Result<os::Fd> share() const override;
  Result<void> grantAccess(const GpuSelector&) const override;
  Result<std::unique_ptr<Copies>> openCopies(const CopiesRequest&) const override;
  Result<std::unique_ptr<Canaries>> openCanaries(std::span<const CanarySlot>) const override;
  void describe(BufferFacts&) const override;

private:
  using Owned = std::shared_ptr<CudaRegion>;
  static Result<Owned> take(const Gpu&, const Bar1&, CudaMemory, const RegionRequest&,
                            std::vector<Error>& tolerated, const VulkanImporter* = nullptr);
  static Result<Owned> instead(const Gpu&, const Bar1&, const Error& unreached, const RegionRequest&,
                               std::vector<Error>& tolerated);
  template <class Memory>
  void keep(Memory, std::size_t bytes);
  /// `tolerated`: what its making has survived.
  Result<void> aliasOn(const VulkanImporter&, const std::vector<Error>& tolerated);
  void askCapable();
  bool isUnreachedVmm() const noexcept;
  std::size_t committedBytes() const noexcept;
  Result<void> accept(GpuRdma);
  void setSyncMemops();
  /// Maps a range into a dma-buf as the config says, in a context that is current.
  Result<void> exportMapped(std::size_t offset, std::size_t bytes, int& number, ExportedFd&) const noexcept;
  Result<void> clear(Keep, std::size_t offset, std::size_t bytes) const noexcept;
  /// By the GPU itself, and by what runs on it.
  bool writesNeedFlush() const noexcept { return m_gpu.writesOrdering < api::orderedForOwner; }
  bool writesOrderedForAll() const noexcept { return m_gpu.writesOrdering >= api::orderedForAllDevices; }

  Gpu m_gpu;
  Bar1 m_bar1;
  ContextSource m_contexts; // before the memory, which may live in a context
  std::variant<std::monostate, VmmMemory, PlainMemory> m_memory;
  std::unique_ptr<const VulkanAlias> m_alias; // after the memory, which it is
  ReachableMemory m_reachable;                ///< What of it takes up room in BAR1, once a peer uses it.
  Kernels m_kernels{m_contexts};              // after the memory, which they read and write
  api::DevicePtr m_base{};
  std::size_t m_bytes{}; ///< From m_base on: what was asked for.
  Answer m_capable{Answer::Yes};
  Error m_unreached{};    ///< Why it is not Yes.
  Error m_memoryReason{}; ///< Why it is cuMemAlloc's where that was not asked for.
  Error m_syncMemopsError{};
  PcieMapping m_pcieMapping{};
  bool m_scrub{};
  bool m_limitedByBar1{true};
  mutable std::atomic<bool> m_othersRead{}; ///< Another GPU was let in.
  std::vector<Error> m_tolerated;
};

} // namespace rdmagpu::backend::cuda
