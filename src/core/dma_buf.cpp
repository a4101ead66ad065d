#include <base/library_error.hpp>
#include <core/dma_buf.hpp>
#include <os/udmabuf.hpp>

#include <utility>

namespace rdmagpu {
namespace {

/// Invariant 6: a driver that exports less than was asked for, or more, is found out here, not by a peer.
Result<void> checkCovers(const char* call, const backend::ExportedFd& exported, std::size_t bytes) {
  const auto end = os::fileBytes(exported.fd.get());
  if(!end)
    return end.error();
  if(*end < exported.offset + bytes)
    return libraryError(call, LibraryCode::ExportTooSmall, exported.offset + bytes, *end);
  if(exported.exact && *end > exported.offset + bytes)
    return libraryError(call, LibraryCode::ExportTooLarge, exported.offset + bytes, *end);
  return {};
}

} // namespace

Result<backend::ExportedFd> core::exportRange(const char* call, const backend::Region& region,
                                              std::size_t offset, std::size_t bytes) {
  auto exported = region.exportDmaBuf(offset, bytes);
  if(!exported) {
    Error error = exported.error();
    if(*error.call == '\0')
      error.call = call; // the region does not know which of ours was called
    return error;
  }
  if(const auto covers = checkCovers(call, *exported, bytes); !covers)
    return covers.error();
  return exported;
}

DmaBuf core::DmaBufAccess::make(std::shared_ptr<const void> memory, backend::ExportedFd exported,
                                std::size_t size) noexcept {
  DmaBuf dmaBuf;
  dmaBuf.m_memory = std::move(memory);
  dmaBuf.m_close = exported.close ? exported.close : &os::FdTraits::close;
  dmaBuf.m_fd = exported.fd.release();
  dmaBuf.m_offset = exported.offset;
  dmaBuf.m_size = size;
  dmaBuf.m_pcieMapped = exported.pcieMapped;
  dmaBuf.m_pcieError = exported.pcieError;
  return dmaBuf;
}

DmaBuf::~DmaBuf() {
  if(m_fd >= 0)
    m_close(m_fd);
}

DmaBuf::DmaBuf(DmaBuf&& other) noexcept
    : m_memory(std::move(other.m_memory)),
      m_close(other.m_close),
      m_fd(std::exchange(other.m_fd, -1)),
      m_offset(std::exchange(other.m_offset, 0)),
      m_size(std::exchange(other.m_size, 0)),
      m_pcieMapped(std::exchange(other.m_pcieMapped, false)),
      m_pcieError(std::exchange(other.m_pcieError, {})) {}

DmaBuf& DmaBuf::operator=(DmaBuf&& other) noexcept {
  if(this != &other) {
    DmaBuf old{std::move(*this)};
    m_memory = std::move(other.m_memory);
    m_close = other.m_close;
    m_fd = std::exchange(other.m_fd, -1);
    m_offset = std::exchange(other.m_offset, 0);
    m_size = std::exchange(other.m_size, 0);
    m_pcieMapped = std::exchange(other.m_pcieMapped, false);
    m_pcieError = std::exchange(other.m_pcieError, {});
  }
  return *this;
}

int DmaBuf::release() noexcept {
  m_memory.reset();
  m_offset = 0;
  m_size = 0;
  m_pcieMapped = false;
  m_pcieError = {};
  return std::exchange(m_fd, -1);
}

} // namespace rdmagpu
