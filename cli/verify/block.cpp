#include "verify/block.hpp"

#include "human.hpp"
#include "output.hpp"

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace rdmagpu::cli {
namespace {

std::string deviceText(const BlockPeer& peer) {
  return fmt::format("{}, {}", peer.pci() ? peer.pci()->text() : "no PCI device", bytesText(peer.size()));
}

} // namespace

Result<BlockPeer> openBlockPeer(const RdmaGpuBuffer& buffer, const std::string& path, bool overwrite) {
  auto peer = BlockPeer::open(buffer, path, {.overwrite = overwrite});
  if(peer && overwrite)
    printNote(fmt::format("verify: --overwrite: the first {} bytes of {} ({}) are lost",
                          peer->overwritten(buffer.slot(0).size), path, deviceText(*peer)));
  return peer;
}

bool isLeftOut(const Error& error) noexcept { return std::string_view(error.codeName) == "BlockReadOnly"; }

std::string blockMover(const BlockPeer& peer) {
  if(peer.agent() == Agent::Device)
    return fmt::format("the DMA engine of {}", peer.pci()->text());
  return "the kernel: no PCI device is known to be behind it, and none is proven";
}

std::vector<std::string> lostBytesHints(const BufferFacts& memory) {
  std::vector<std::string> hints;
  if(memory.api != RdmaGpuApi::HostFallback)
    hints = {
        "Look for refused DMA in the kernel's log: 'dmesg | grep -iE \"dmar|iommu|io_page_fault\"'. Where "
        "there is any, boot with 'iommu=pt', or turn ACS off on the bridges between the two devices.",
        "Run it with '--api host' too: where that is proven, it is the way between the two devices."};
  else
    hints = {"Look for the drive's errors in the kernel's log: 'dmesg | tail'."};
  return hints;
}

void addBlockPeer(Json& report, const BlockPeer& peer, std::size_t slotBytes) {
  report["peer_pci"] = peer.pci() ? Json(peer.pci()->text()) : Json();
  report["overwritten_bytes"] = peer.overwritten(slotBytes);
}

} // namespace rdmagpu::cli
