#include <base/library_error.hpp>
#include <os/block.hpp>

namespace rdmagpu::os {
namespace {

Error absent(std::size_t bytes) noexcept {
  return libraryError("BlockPeer::open", LibraryCode::PlatformLacks, bytes);
}

} // namespace

Result<BlockFile> BlockFile::open(const std::string&, Access, const std::string&) { return absent(0); }
Result<void> BlockFile::read(std::uint64_t, void*, std::size_t bytes) const { return absent(bytes); }
Result<void> BlockFile::write(std::uint64_t, const void*, std::size_t bytes) const { return absent(bytes); }

bool isAnswerToMemory(const Error&) noexcept { return false; }
std::optional<PciAddress> pciOfBlock(unsigned, unsigned, const std::string&) { return {}; }

} // namespace rdmagpu::os
