#include <core/dma_buf.hpp>

#include <utility>

namespace rdmagpu {

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
