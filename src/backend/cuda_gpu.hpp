#pragma once
#include <backend/cuda_driver.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmagpu::backend::cuda {

/// A GPU, and what its driver says that it is and can do. No context is needed to ask.
struct Gpu {
  api::Device device{};
  int ordinal{};
  std::string name{};
  std::string busId{}; ///< As the driver writes it.
  std::optional<PciAddress> pci{};
  std::uint64_t totalBytes{};
  std::uint64_t bar1Bytes{}; ///< As the kernel tells; 0 where it does not.
  bool integrated{};
  bool vmm{};
  bool rdma{};
  bool rdmaWithVmm{};
  bool posixFd{};
  bool dmaBuf{};
  int writesOrdering{};
};

/// How many there are.
Result<int> countGpus(const api::Functions&);

/// Asks the driver and the kernel.
Result<Gpu> describeGpu(const api::Functions&, int ordinal);

/// What describeGpu() has answered first: none of it changes while a driver runs, and asking anew for each
/// buffer would be a tenth of what creating one takes.
Result<Gpu> knownGpu(const api::Functions&, int ordinal);

/// Has it known as that, for tests of machines of which this one's kernel tells nothing.
void pretendGpu(const Gpu&);

/// Has them asked anew, for tests in which a software device becomes another machine.
void forgetGpus() noexcept;

/// The ordinal of the GPU that the config names. Those of its ways to name one that it uses must agree. Where
/// it names none, and a peer, the GPU nearest to that, as the config's `peer` says. `root` replaces "/".
Result<int> chooseGpu(const api::Functions&, const RdmaGpuBufferConfig&, const std::string& root = "");
/// The same for a selector, and an ordinal for one that names none. `call` is the public function to name in
/// an error.
Result<int> chooseGpu(const char* call, const api::Functions&, const GpuSelector&, int otherwise);

/// The kind of memory to allocate there, never Auto: as asked, or what the driver offers. An error
/// names what the driver must say, and does not.
Result<CudaMemory> chooseMemory(const Gpu&, CudaMemory asked, GpuRdma);
/// Whether the driver offers to export its memory as dma-bufs.
Result<void> checkExportable(const Gpu&);
/// Why chooseMemory() does not take virtual memory management's.
Error whyNotVmm(const Gpu&);

} // namespace rdmagpu::backend::cuda
