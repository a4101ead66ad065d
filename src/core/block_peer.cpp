#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <os/block.hpp>
#include <os/host_pages.hpp>
#include <os/mapping.hpp>
#include <rdmagpu/block_peer.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace rdmagpu {
namespace {

constexpr const char* openCall = "BlockPeer::open";

struct Target {
  std::shared_ptr<const void> memory;
  void* address{};
  std::size_t bytes{};
  bool host{};
};

/// What the kernel could take for an address, whether or not it then has pages there for a device.
void* addressFor(const Handoff& handoff) noexcept {
  switch(kind(handoff)) {
  case HandoffKind::HostPointer:
  case HandoffKind::PciMapping:
  case HandoffKind::CudaPointer:
  case HandoffKind::HipPointer:
  case HandoffKind::LevelZeroPointer:
    return reinterpret_cast<void*>(addressBits(handoff)); // GPU drivers' device pointers are numbers
  case HandoffKind::None:
  case HandoffKind::VulkanRemoteAddress:
  case HandoffKind::NvApiRdmaAddress:
  case HandoffKind::DmaBuf:
    return nullptr;
  }
  return nullptr;
}

} // namespace

struct BlockPeer::Impl {
  os::BlockFile file;
  std::vector<Target> slots;
  os::Mapping host; ///< As large as a slot, for the bytes' other end.
  std::string name;
  bool overwrite{};

  Result<void> check(const char* call, std::uint32_t slot, std::size_t bytes) const noexcept;
  Error refused(Error error, std::uint32_t slot) const noexcept;
  std::uint64_t placeOf(std::uint32_t slot, std::size_t bytes) const noexcept;
  Result<void> put(std::span<const std::byte> bytes);
  Result<void> take(std::uint64_t from, std::span<std::byte> bytes);
};

Result<void> BlockPeer::Impl::check(const char* call, std::uint32_t slot, std::size_t bytes) const noexcept {
  if(slot >= slots.size())
    return libraryError(call, LibraryCode::SlotOutOfRange, slot, slots.size());
  if(bytes > slots[slot].bytes)
    return libraryError(call, LibraryCode::RangeOutOfSlot, bytes, slots[slot].bytes);
  if(bytes % file.blockBytes() != 0)
    return libraryError(call, LibraryCode::BlockPartial, bytes, file.blockBytes());
  if(bytes > file.bytes())
    return libraryError(call, LibraryCode::BlockTooSmall, bytes, file.bytes());
  return {};
}

Error BlockPeer::Impl::refused(Error error, std::uint32_t slot) const noexcept {
  if(!slots[slot].host && os::isAnswerToMemory(error))
    error.kind = Errc::Unsupported;
  error.slot = static_cast<std::int32_t>(slot);
  error.pci = file.pci();
  return error;
}

/// Other bytes for each slot, as far as the device has others.
std::uint64_t BlockPeer::Impl::placeOf(std::uint32_t slot, std::size_t bytes) const noexcept {
  return bytes == 0 ? 0 : slot % (file.bytes() / bytes) * bytes;
}

Result<void> BlockPeer::Impl::put(std::span<const std::byte> bytes) {
  std::copy(bytes.begin(), bytes.end(), host.data());
  return file.write(0, host.data(), bytes.size());
}

Result<void> BlockPeer::Impl::take(std::uint64_t from, std::span<std::byte> bytes) {
  if(const auto read = file.read(from, host.data(), bytes.size()); !read)
    return read;
  std::copy_n(host.data(), bytes.size(), bytes.begin());
  return {};
}

BlockPeer::BlockPeer(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
BlockPeer::~BlockPeer() = default;
BlockPeer::BlockPeer(BlockPeer&&) noexcept = default;
BlockPeer& BlockPeer::operator=(BlockPeer&&) noexcept = default;

Result<BlockPeer> BlockPeer::open(const RdmaGpuBuffer& buffer, const std::string& path,
                                  const BlockPeerOptions& options) {
  return guarded(openCall, [&]() -> Result<BlockPeer> {
    if(!buffer.valid())
      return libraryError(openCall, LibraryCode::BufferEmpty);
    auto impl = std::make_unique<Impl>();
    for(std::size_t i = 0; i < buffer.slotCount(); ++i) {
      const Handoff handoff = buffer.handoff(i);
      impl->slots.push_back({.memory = buffer.keepAlive(i),
                             .address = addressFor(handoff),
                             .bytes = buffer.slot(i).size,
                             .host = kind(handoff) == HandoffKind::HostPointer});
      if(!impl->slots.back().address)
        return libraryError(openCall, LibraryCode::BlockWithoutAddress);
    }
    using Access = os::BlockFile::Access;
    auto file = os::BlockFile::open(path, options.overwrite ? Access::Overwrite : Access::Read);
    if(!file)
      return file.error();
    auto host = os::Mapping::make(-1, impl->slots.front().bytes, os::pageBytes(), os::Mapping::Pages::Normal);
    if(!host)
      return host.error();
    impl->file = *std::move(file);
    impl->host = *std::move(host);
    impl->name = "block:" + path;
    impl->overwrite = options.overwrite;
    return BlockPeer{std::move(impl)};
  });
}

const char* BlockPeer::name() const noexcept { return m_impl->name.c_str(); }
Agent BlockPeer::agent() const noexcept { return m_impl->file.pci() ? Agent::Device : Agent::Software; }
std::optional<PciAddress> BlockPeer::pci() const noexcept { return m_impl->file.pci(); }
std::uint64_t BlockPeer::size() const noexcept { return m_impl->file.bytes(); }
std::uint64_t BlockPeer::overwritten(std::size_t bytes) const noexcept {
  return m_impl->overwrite ? bytes : 0;
}

Result<void> BlockPeer::write(std::uint32_t slot, std::span<const std::byte> bytes) {
  constexpr const char* call = "BlockPeer::write";
  if(!m_impl->overwrite)
    return libraryError(call, LibraryCode::BlockReadOnly);
  if(const auto checked = m_impl->check(call, slot, bytes.size()); !checked)
    return checked;
  if(const auto put = m_impl->put(bytes); !put)
    return put;
  const auto written = m_impl->file.read(0, m_impl->slots[slot].address, bytes.size());
  return written ? written : m_impl->refused(written.error(), slot);
}

Result<void> BlockPeer::read(std::uint32_t slot, std::span<std::byte> bytes) {
  constexpr const char* call = "BlockPeer::read";
  if(!m_impl->overwrite)
    return libraryError(call, LibraryCode::BlockReadOnly);
  if(const auto checked = m_impl->check(call, slot, bytes.size()); !checked)
    return checked;
  if(const auto put = m_impl->put(bytes); !put)
    return put;
  if(const auto read = m_impl->file.write(0, m_impl->slots[slot].address, bytes.size()); !read)
    return m_impl->refused(read.error(), slot);
  return m_impl->take(0, bytes);
}

Result<void> BlockPeer::fetch(std::uint32_t slot, std::span<std::byte> bytes) {
  if(const auto checked = m_impl->check("BlockPeer::fetch", slot, bytes.size()); !checked)
    return checked;
  return m_impl->take(m_impl->placeOf(slot, bytes.size()), bytes);
}

Result<void> BlockPeer::fill(std::uint32_t slot, std::size_t bytes) {
  if(const auto checked = m_impl->check("BlockPeer::fill", slot, bytes); !checked)
    return checked;
  const auto filled = m_impl->file.read(m_impl->placeOf(slot, bytes), m_impl->slots[slot].address, bytes);
  return filled ? filled : m_impl->refused(filled.error(), slot);
}

} // namespace rdmagpu
