#include <backend/backend.hpp>
#include <base/align.hpp>
#include <base/library_error.hpp>
#include <os/host_pages.hpp>

#include <algorithm>

namespace rdmagpu::backend {

Result<ExportedFd> Region::exportDmaBuf(std::size_t, std::size_t bytes) const {
  return libraryError("", LibraryCode::NotExportable, bytes);
}

Result<os::Fd> Region::share() const {
  return libraryError("RdmaGpuBuffer::share", LibraryCode::NotShareable);
}

Result<void> Region::grantAccess(const GpuSelector&) const {
  return libraryError("RdmaGpuBuffer::grantAccess", LibraryCode::NotGrantable);
}

Result<std::unique_ptr<Copies>> Region::openCopies(const CopiesRequest&) const {
  return libraryError("CopyQueue::make", LibraryCode::NotCopyable);
}

Result<std::unique_ptr<Canaries>> Region::openCanaries(std::span<const CanarySlot>) const {
  return libraryError("FrameProof::make", LibraryCode::NotProvable);
}

std::size_t sharedPageBytes() noexcept { return std::max(gpuPageBytes, os::pageBytes()); }

Result<RegionPtr> Backend::attach(os::Fd, std::size_t bytes) const {
  return libraryError("RdmaGpuBuffer::attach", LibraryCode::NotShareable, bytes);
}

Result<std::optional<MemoryFacts>> Backend::inspect(std::uintptr_t, std::size_t) const {
  return std::optional<MemoryFacts>{};
}

} // namespace rdmagpu::backend
