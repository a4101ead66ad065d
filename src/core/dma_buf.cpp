#include <core/dma_buf.hpp>

#include <utility>

namespace rdmagpu {

DmaBuf core::DmaBufAccess::make(std::shared_ptr<const void> memory, os::Fd fd, void (*close)(int) noexcept,
                                std::uint64_t offset, std::size_t size) noexcept {
  DmaBuf dmaBuf;
  dmaBuf.m_memory = std::move(memory);
  dmaBuf.m_close = close ? close : &os::FdTraits::close;
  dmaBuf.m_fd = fd.release();
  dmaBuf.m_offset = offset;
  dmaBuf.m_size = size;
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
      m_size(std::exchange(other.m_size, 0)) {}

DmaBuf& DmaBuf::operator=(DmaBuf&& other) noexcept {
  if(this != &other) {
    DmaBuf old{std::move(*this)};
    m_memory = std::move(other.m_memory);
    m_close = other.m_close;
    m_fd = std::exchange(other.m_fd, -1);
    m_offset = std::exchange(other.m_offset, 0);
    m_size = std::exchange(other.m_size, 0);
  }
  return *this;
}

int DmaBuf::release() noexcept {
  m_memory.reset();
  m_offset = 0;
  m_size = 0;
  return std::exchange(m_fd, -1);
}

} // namespace rdmagpu
