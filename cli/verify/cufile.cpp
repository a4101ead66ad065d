#include "verify/cufile.hpp"

#include "failure.hpp"
#include "human.hpp"
#include "memory_text.hpp"
#include "output.hpp"

#include <fmt/core.h>

namespace rdmagpu::cli {
namespace {

std::string pathText(const CuFilePeer& peer) {
  std::string text = name(peer.path());
  switch(isDirect(peer.path())) {
  case Answer::Yes:
    break;
  case Answer::Unknown:
    text += " (direct or staged: cuFile does not tell)";
    break;
  case Answer::No:
    text += " (staged)";
    break;
  }
  if(peer.reason().kind != Errc::None)
    text += "\n" + peer.reason().message();
  return text;
}

} // namespace

Result<CuFilePeer> openCuFilePeer(const RdmaGpuBuffer& buffer, const std::string& path, bool overwrite) {
  auto peer = CuFilePeer::open(buffer, path, {.overwrite = overwrite});
  if(peer && overwrite)
    printNote(fmt::format("verify: --overwrite: the first {} bytes of {} ({}) are lost",
                          peer->overwritten(buffer.slot(0).size), path, bytesText(peer->size())));
  return peer;
}

PeerFacts factsOf(const CuFilePeer& peer) {
  const char* mover = "cuFile, which has told of no device: none is proven";
  switch(peer.path()) {
  case StoragePath::Direct:
  case StoragePath::PeerToPeer:
    mover = peer.facts().version == 0 && peer.facts().nvidiaFsMajor == 0
                ? "the kernel, by direct I/O: a file system is in between, and no device is proven"
                : "cuFile, past host memory as it says of itself";
    break;
  case StoragePath::Undecided:
  case StoragePath::Compatibility:
    break;
  case StoragePath::HostSlot:
    mover = "direct I/O to host memory, and the GPU's copy engine: no third-party device is proven";
    break;
  case StoragePath::PageCache:
    mover = "the kernel, through its page cache: no device is proven";
    break;
  }
  return {.mover = mover,
          .hints = {"Run it with '--peer block:PATH' and '--api host' too: where that is proven, it is the "
                    "way between the drive and the GPU."},
          .path = pathText(peer)};
}

void addCuFilePeer(Json& report, const CuFilePeer& peer, std::size_t slotBytes) {
  const CuFileFacts facts = peer.facts();
  report["path"] = name(peer.path());
  report["direct"] = name(isDirect(peer.path()));
  report["path_reason"] = peer.reason().kind == Errc::None ? Json() : toJson(failureOf(peer.reason()));
  report["cufile"] = {{"version", facts.version},
                      {"nvidia_fs", fmt::format("{}.{}", facts.nvidiaFsMajor, facts.nvidiaFsMinor)},
                      {"nvidia_fs_loaded", name(facts.nvidiaFsLoaded)},
                      {"compat_allowed", facts.compatAllowed},
                      {"compat_forced", facts.compatForced}};
  report["overwritten_bytes"] = peer.overwritten(slotBytes);
}

} // namespace rdmagpu::cli
