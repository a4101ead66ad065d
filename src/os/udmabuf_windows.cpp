#include <base/library_error.hpp>
#include <os/udmabuf.hpp>

namespace rdmagpu::os {

Result<Fd> exportMemfd(int, std::uint64_t, std::uint64_t bytes) {
  return libraryError("RdmaGpuBuffer::exportDmaBuf", LibraryCode::PlatformLacks, bytes);
}

Result<void> checkUdmabuf() { return libraryError("", LibraryCode::PlatformLacks); }

Result<std::uint64_t> fileBytes(int) { return libraryError("", LibraryCode::PlatformLacks); }

} // namespace rdmagpu::os
