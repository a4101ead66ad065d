#include <backend/vulkan_buffer_region.hpp>
#include <base/library_error.hpp>
#include <base/mix.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu::backend::vulkan {
namespace {

/// The words of those bytes as checksum() and poison() see them; the last one is filled up with zeros.
template <class Word>
void forEachWord(std::size_t bytes, std::uint64_t& index, Word word) {
  for(std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t), ++index)
    word(at, std::min(sizeof(std::uint64_t), bytes - at));
}

Error noCopies(const char* call) noexcept { return libraryError(call, LibraryCode::VulkanNoQueueNamed); }

} // namespace

Result<void> BufferRegion::upload(std::size_t offset, std::span<const std::byte> from) const {
  if(!m_copier)
    return noCopies("RdmaGpuBuffer::upload");
  return m_copier->upload(m_copied, offset, from);
}

Result<void> BufferRegion::download(std::size_t offset, std::span<std::byte> to) const {
  if(!m_copier)
    return noCopies("RdmaGpuBuffer::download");
  return m_copier->download(m_copied, offset, to);
}

Result<std::uint64_t> BufferRegion::checksum(std::size_t offset, std::size_t bytes) const {
  if(!m_copier)
    return noCopies("RdmaGpuBuffer::checksum");
  std::uint64_t sum = 0;
  std::uint64_t index = 0;
  const auto read = m_copier->read(m_copied, offset, bytes, [&](std::span<const std::byte> piece) {
    forEachWord(piece.size(), index, [&](std::size_t at, std::size_t size) {
      std::uint64_t word = 0;
      std::memcpy(&word, piece.data() + at, size);
      sum += checksumTerm(word, index);
    });
  });
  if(!read)
    return read.error();
  return checksumOf(sum, bytes);
}

Result<void> BufferRegion::poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const {
  if(!m_copier)
    return noCopies("RdmaGpuBuffer::poison");
  const std::uint64_t key = poisonKey(seed);
  std::uint64_t index = 0;
  return m_copier->write(m_copied, offset, bytes, [&](std::span<std::byte> piece) {
    forEachWord(piece.size(), index, [&](std::size_t at, std::size_t size) {
      const std::uint64_t word = poisonWord(key, index);
      std::memcpy(piece.data() + at, &word, size);
    });
  });
}

Result<void> BufferRegion::clear(std::size_t offset, std::size_t bytes) const {
  if(!m_copier)
    return noCopies("RdmaGpuBuffer::clear");
  return m_copier->clear(m_copied, offset, bytes);
}

} // namespace rdmagpu::backend::vulkan
