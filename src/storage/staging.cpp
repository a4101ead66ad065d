#include <base/align.hpp>
#include <base/library_error.hpp>
#include <storage/staging.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::storage {
namespace {

constexpr std::uint32_t pieces = 2;                     // and marks
constexpr std::size_t mostBytes = std::size_t{4} << 20; ///< Of a piece.

Error after(Error error, std::size_t moved) noexcept {
  error.available = moved;
  return error;
}

constexpr std::size_t roundUp(std::size_t bytes) noexcept {
  return (bytes + os::directBlock - 1) / os::directBlock * os::directBlock;
}

/// What one piece is to move: a range of the file that direct I/O takes, of which `use` bytes from `skip` on
/// are wanted.
struct Chunk {
  std::uint64_t start{};
  std::size_t bytes{};
  std::size_t skip{};
  std::size_t use{};
};

Chunk chunkAt(std::uint64_t offset, std::size_t left, std::size_t room, bool direct) noexcept {
  const std::size_t skip = direct ? static_cast<std::size_t>(offset % os::directBlock) : 0;
  const std::size_t use = std::min(left, room - skip);
  return {.start = offset - skip,
          .bytes = direct ? std::min(roundUp(skip + use), room) : use,
          .skip = skip,
          .use = use};
}

} // namespace

Staging::Staging(RdmaGpuBuffer host, std::unique_ptr<backend::Copies> copies) noexcept
    : m_host(std::move(host)), m_copies(std::move(copies)) {}

Result<std::unique_ptr<Staging>> Staging::make(const backend::Region& region, std::size_t slotBytes,
                                               const std::optional<PciAddress>& gpu) {
  RdmaGpuBufferConfig config{.api = RdmaGpuApi::HostFallback,
                             .slotCount = pieces,
                             .frameBytes = std::min(mostBytes, roundUp(slotBytes))};
  config.gpu.pci = gpu;
  config.host.gpuPin = GpuPin::Try;
  auto host = RdmaGpuBuffer::make(config);
  if(!host)
    return host.error();
  auto copies = region.openCopies({.lanes = 1, .marks = pieces});
  if(!copies)
    return copies.error();
  return std::make_unique<Staging>(*std::move(host), *std::move(copies));
}

std::span<std::byte> Staging::piece(std::size_t i) const noexcept {
  return {static_cast<std::byte*>(m_host.slot(i).gpuVA), m_host.slot(i).size};
}

Result<void> Staging::finish() const noexcept {
  Result<void> finished{};
  for(std::uint32_t i = 0; i < pieces; ++i) {
    if(const auto over = m_copies->wait(i); !over)
      finished = over;
  }
  if(!finished)
    m_copies->settle();
  return finished;
}

Result<std::size_t> Staging::read(const os::FileIo& file, std::uint64_t fileOffset, std::size_t regionOffset,
                                  std::size_t bytes) {
  using Way = os::FileIo::Way;
  const std::lock_guard lock{m_mutex};
  const bool direct = file.hasDirect();
  Error failed{};
  std::size_t done = 0;
  bool ended = false;
  for(std::uint32_t i = 0; done < bytes && !ended && failed.kind == Errc::None; i = (i + 1) % pieces) {
    const std::span<std::byte> host = piece(i);
    const Chunk chunk = chunkAt(fileOffset + done, bytes - done, host.size(), direct);
    if(const auto free = m_copies->wait(i); !free) {
      failed = free.error();
      break;
    }
    const auto got = file.read(direct ? Way::Direct : Way::Cached, chunk.start, host.data(), chunk.bytes);
    if(!got) {
      failed = got.error();
      break;
    }
    const std::size_t usable = *got > chunk.skip ? std::min(*got - chunk.skip, chunk.use) : 0;
    ended = usable < chunk.use;
    if(usable == 0)
      break;
    if(const auto begun = m_copies->upload(0, i, regionOffset + done, host.subspan(chunk.skip, usable));
       !begun)
      failed = begun.error();
    else
      done += usable;
  }
  const auto finished = finish();
  if(failed.kind == Errc::None && finished)
    return done;
  return after(failed.kind == Errc::None ? finished.error() : failed, finished ? done : 0);
}

Result<std::size_t> Staging::write(const os::FileIo& file, std::uint64_t fileOffset, std::size_t regionOffset,
                                   std::size_t bytes) {
  using Way = os::FileIo::Way;
  const bool aligned = fileOffset % os::directBlock == 0 && bytes % os::directBlock == 0;
  const Way way = file.hasDirect() && aligned ? Way::Direct : Way::Cached;
  if(way == Way::Cached && !file.hasCached())
    return libraryError("CuFile::write", LibraryCode::FileUnaligned, bytes);
  const std::lock_guard lock{m_mutex};
  const std::size_t room = piece(0).size();
  const auto partAt = [&](std::size_t at) { return std::min(room, bytes - at); };
  const auto begin = [&](std::uint32_t i, std::size_t at) {
    return m_copies->download(0, i, regionOffset + at, piece(i).first(partAt(at)));
  };
  Error failed{};
  std::size_t done = 0;
  Result<void> step = bytes > 0 ? begin(0, 0) : Result<void>{};
  for(std::uint32_t i = 0; step && done < bytes; i = (i + 1) % pieces) {
    const std::size_t part = partAt(done);
    if(done + part < bytes) // the next one, while this one is written
      step = begin((i + 1) % pieces, done + part);
    if(step)
      step = m_copies->wait(i);
    if(!step)
      break;
    const auto put = file.write(way, fileOffset + done, piece(i).data(), part);
    if(!put) {
      failed = after(put.error(), done + put.error().available);
      break;
    }
    done += part;
  }
  if(!step)
    failed = after(step.error(), done);
  const auto finished = finish();
  if(failed.kind != Errc::None)
    return failed;
  return finished ? Result<std::size_t>{done} : Result<std::size_t>{after(finished.error(), done)};
}

} // namespace rdmagpu::storage
