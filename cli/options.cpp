#include "options.hpp"

#include "frames/decimal.hpp"
#include "output.hpp"
#include "parse/byte_size.hpp"
#include "parse/count.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace rdmagpu::cli {
namespace {

InputError badValue(std::string message) { return {InputErrorKind::BadValue, std::move(message)}; }

std::string apiNames() {
  // Values are appended to the enumeration only, with Auto at its end.
  std::string names = name(RdmaGpuApi::Auto);
  for(unsigned value = 1; value < static_cast<unsigned>(RdmaGpuApi::Auto); ++value) {
    const std::string_view next = name(static_cast<RdmaGpuApi>(value));
    if(next != name(RdmaGpuApi::None))
      names += fmt::format(", {}", next);
  }
  return names;
}

struct MisbehaviourName {
  std::string_view text;
  Misbehaviour value;
};

constexpr std::array misbehaviours{MisbehaviourName{"stop", Misbehaviour::Stop},
                                   MisbehaviourName{"tear", Misbehaviour::Tear},
                                   MisbehaviourName{"late", Misbehaviour::WriteLate},
                                   MisbehaviourName{"hold", Misbehaviour::Hold},
                                   MisbehaviourName{"overrun", Misbehaviour::Overrun},
                                   MisbehaviourName{"overrun-slot", Misbehaviour::OverrunSlot},
                                   MisbehaviourName{"wrong-slot", Misbehaviour::WrongSlot},
                                   MisbehaviourName{"migrate", Misbehaviour::Migrate}};

std::string misbehaviourNames() {
  std::string names;
  for(const MisbehaviourName& known : misbehaviours)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.text);
  return names;
}

Expected<PeerOption> parseSoftwarePeer(const std::string& text, std::string_view trick) {
  const std::size_t at = trick.find('@');
  PeerOption peer{.text = text};
  for(const MisbehaviourName& known : misbehaviours) {
    if(trick.substr(0, at) == known.text)
      peer.misbehaviour = known.value;
  }
  const auto frame =
      at == std::string_view::npos ? std::optional<std::uint64_t>(0) : parseDecimal(trick.substr(at + 1));
  if(peer.misbehaviour == Misbehaviour::None || !frame)
    return badValue(fmt::format(
        "{} is no software peer: what it does wrong is one of {}, with @FRAME for the frame, such "
        "as software:tear@3",
        quote(text), misbehaviourNames()));
  peer.misbehaveAt = *frame;
  return peer;
}

/// DEVICE[:PORT] of "verbs:".
Expected<PeerOption> parseNic(const std::string& text, std::string_view name) {
  const std::size_t colon = name.find(':');
  const auto port = colon == std::string_view::npos ? std::optional<std::uint64_t>(1)
                                                    : parseDecimal(name.substr(colon + 1));
  const std::string_view device = name.substr(0, colon);
  if(device.empty() || !port || *port < 1 || *port > std::numeric_limits<std::uint8_t>::max())
    return badValue(
        fmt::format("{} is no RDMA device: it is verbs: and a name that 'rdma link' shows, and may "
                    "have a port from 1 on behind it, such as verbs:mlx5_0:1",
                    quote(text)));
  return PeerOption{.text = text,
                    .nic =
                        NicOption{.device = std::string(device), .port = static_cast<std::uint8_t>(*port)}};
}

} // namespace

RdmaGpuBufferConfig BufferOptions::config() const {
  RdmaGpuBufferConfig config;
  config.api = api;
  config.slotCount = slots;
  config.frameBytes = bytes;
  config.gpu = gpu;
  config.host.gpuPin = gpuPin;
  config.cudaMemory = cudaMemory;
  return config;
}

Expected<RdmaGpuApi> parseApi(const std::string& text) {
  if(const auto api = apiNamed(text))
    return *api;
  return badValue(fmt::format("{} is no API: it is one of {}", quote(text), apiNames()));
}

Expected<GpuSelector> parseGpu(const std::string& text) {
  GpuSelector gpu;
  if(const auto ordinal = parseDecimal(text); ordinal && *ordinal <= INT32_MAX)
    gpu.ordinal = static_cast<int>(*ordinal);
  else if(const auto pci = PciAddress::parse(text))
    gpu.pci = pci;
  else
    return badValue(
        fmt::format("{} is no GPU: it is a number from 0, or a PCI address such as 65:00.0", quote(text)));
  return gpu;
}

Expected<PeerOption> parsePeer(const std::string& text) {
  constexpr std::string_view trickyPeer = "software:";
  constexpr std::string_view nicPeer = "verbs:";
  if(text == "software")
    return PeerOption{};
  if(text.starts_with(trickyPeer))
    return parseSoftwarePeer(text, std::string_view(text).substr(trickyPeer.size()));
  if(text.starts_with(nicPeer))
    return parseNic(text, std::string_view(text).substr(nicPeer.size()));
  constexpr std::string_view blockPeer = "block:";
  if(text.starts_with(blockPeer) && text.size() > blockPeer.size())
    return PeerOption{.text = text, .block = text.substr(blockPeer.size())};
  constexpr std::string_view filePeer = "cufile:";
  if(text.starts_with(filePeer) && text.size() > filePeer.size())
    return PeerOption{.text = text, .cuFile = text.substr(filePeer.size())};
  if(text.starts_with("v4l2:"))
    return PeerOption{.text = text, .present = false};
  return badValue(
      fmt::format("{} is no peer: it is software, verbs:DEVICE, block:PATH or cufile:PATH", quote(text)));
}

Expected<PciAddress> parsePci(const std::string& text) {
  if(const auto pci = PciAddress::parse(text))
    return *pci;
  return InputError{InputErrorKind::BadValue,
                    fmt::format("{} is no PCI address: it is written 65:00.0 or 0000:65:00.0", quote(text))};
}

Failure absentPeer(const char* command, const PeerOption& peer, const char* present) {
  return {.kind = "Unsupported",
          .message = fmt::format("--peer: {} has no peer {} in this build: it has {}", command,
                                 quote(peer.text), present)};
}

void addApi(CLI::App& app, RdmaGpuApi& api) {
  addParsed(app, "--api", api, parseApi,
            fmt::format("What allocates the slots: {} (default auto: the best that works here)", apiNames()))
      ->type_name("NAME")
      ->group("Slots");
}

void noteUnusedGpu(const char* command, const GpuSelector& gpu, const RdmaGpuBuffer& buffer) {
  const BufferFacts& facts = buffer.facts();
  const bool used = facts.pinnedBy != PinnedBy::Nobody || facts.pinError.kind != Errc::None;
  if(gpu.empty() || buffer.backend() != RdmaGpuApi::HostFallback || used)
    return;
  std::string text = fmt::format("{}: --gpu has no effect: host memory lies on no GPU", command);
  for(const Rejected& rejected : buffer.selection())
    text += fmt::format("; {}: {}", name(rejected.api), rejected.error.message());
  printNote(text);
}

void addGpu(CLI::App& app, GpuSelector& gpu) {
  addParsed(
      app, "--gpu", gpu, parseGpu,
      "Which GPU, by its number in the API or by PCI address such as 65:00.0 (default: the API's first)")
      ->type_name("N|PCI")
      ->group("Slots");
}

void addCudaMemory(CLI::App& app, CudaMemory& memory) {
  const auto parse = [](const std::string& text) -> Expected<CudaMemory> {
    for(const CudaMemory known : {CudaMemory::Auto, CudaMemory::Vmm, CudaMemory::MemAlloc}) {
      if(text == name(known))
        return known;
    }
    return badValue(fmt::format("{} is none of auto, vmm, mem-alloc", quote(text)));
  };
  addParsed(app, "--cuda-memory", memory, parse,
            "CUDA: how the memory is allocated: auto (default: vmm where the driver offers it with RDMA), "
            "vmm (virtual memory management), or mem-alloc (cuMemAlloc)")
      ->type_name("KIND")
      ->group("Slots");
}

void addGpuPin(CLI::App& app, GpuPin& pin) {
  const auto parse = [](const std::string& text) -> Expected<GpuPin> {
    if(text == "off")
      return GpuPin::Off;
    if(text == "try")
      return GpuPin::Try;
    if(text == "require")
      return GpuPin::Require;
    return badValue(fmt::format("{} is none of off, try, require", quote(text)));
  };
  addParsed(app, "--pin-gpu", pin, parse,
            "Have CUDA's driver pin host pages for a GPU's copy engine: off (default), try, or require")
      ->type_name("MODE")
      ->group("Host memory");
}

void addSlots(CLI::App& app, std::uint32_t& slots) {
  const auto parse = [](const std::string& text) -> Expected<std::uint32_t> {
    const auto count = parseCount(text, 1, std::numeric_limits<std::uint32_t>::max());
    if(!count)
      return count.error();
    return static_cast<std::uint32_t>(*count);
  };
  addParsed(app, "--slots", slots, parse, fmt::format("How many slots (default {})", slots))
      ->type_name("N")
      ->group("Slots");
}

void addBytes(CLI::App& app, std::size_t& bytes) {
  addParsed(
      app, "--bytes", bytes, parseByteSize,
      fmt::format("Bytes of one slot, such as 4147200, 64K or 8M, where K is 1024 (default {}: 1920x1080 in "
                  "uyvy422)",
                  bytes))
      ->type_name("SIZE")
      ->group("Slots");
}

void addPeer(CLI::App& app, PeerOption& peer) {
  const auto parse = [](const std::string& text) -> Expected<PeerOption> {
    auto parsed = parsePeer(text);
    if(parsed && parsed->misbehaviour != Misbehaviour::None)
      return badValue(
          fmt::format("{}: only stream can be told that its peer does something wrong", quote(text)));
    return parsed;
  };
  addParsed(
      app, "--peer", peer, parse,
      "The device on the other side of the slots: software (the default), which runs on the CPU; or "
      "verbs:DEVICE[:PORT], an RDMA NIC such as verbs:mlx5_0, by its own transfers; or block:PATH, a block "
      "device such as block:/dev/nvme0n1, whose own DMA engine fills the slots with what it holds, to be "
      "compared: it is only read, unless --overwrite is given; or cufile:PATH, a file, the same by GPUDirect "
      "Storage, with the path that the bytes took")
      ->type_name("PEER");
}

void addGid(CLI::App& app, std::optional<std::uint32_t>& gid) {
  const auto parse = [](const std::string& text) -> Expected<std::optional<std::uint32_t>> {
    const auto index = parseCount(text, 0, std::numeric_limits<std::uint8_t>::max());
    if(!index)
      return index.error();
    return std::optional{static_cast<std::uint32_t>(*index)};
  };
  addParsed(
      app, "--gid", gid, parse,
      "Which entry of the NIC's table of GIDs it sends from (default: one of RoCE v2, where it has one)")
      ->type_name("N")
      ->group("NIC");
}

void addStreamPeer(CLI::App& app, PeerOption& peer) {
  addParsed(
      app, "--peer", peer, parsePeer,
      fmt::format("The device on the other side of the slots: software (the default), which runs on the "
                  "CPU, and reaches a GPU's slots by its copy engine; software:tear@3 does that wrong at "
                  "frame 3, to try the checks (one of {}); v4l2:/dev/video0 captures from that device "
                  "(--playout: sends), as it is set "
                  "or with ,format=UYVY,size=1280x720,input=1,memory=user-pointer",
                  misbehaviourNames()))
      ->type_name("PEER")
      ->group("Transport");
}

void addJson(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print one JSON object on stdout instead of text");
}

} // namespace rdmagpu::cli
