#include "command.hpp"
#include "failure.hpp"
#include "human.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "memory_text.hpp"
#include "options.hpp"
#include "output.hpp"
#include "parse/count.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::cli {
namespace {

struct AllocOptions {
  BufferOptions buffer;
  std::optional<PciAddress> peer;
  PageLock lock{PageLock::Try};
  HugePages hugePages{HugePages::Off};
  int node{-1};
  bool noMemfd{};
  bool zero{};
  bool scrub{};
  bool ignoreBudget{};
  PcieMapping pcieMapping{PcieMapping::Off};
  bool exports{};
  bool all{};
  bool hold{};
  bool json{};

  RdmaGpuBufferConfig config() const {
    RdmaGpuBufferConfig config = buffer.config();
    config.peer = peer;
    config.zeroFill = zero;
    config.scrubOnDestroy = scrub;
    config.ignoreBudget = ignoreBudget;
    config.pcieMapping = pcieMapping;
    config.host = {.lock = lock,
                   .hugePages = hugePages,
                   .numaNode = node,
                   .forbidMemfd = noMemfd,
                   .gpuPin = buffer.gpuPin};
    return config;
  }
};

/// A buffer, and its export where one was asked for and could be made.
struct Allocation {
  RdmaGpuBuffer buffer;
  std::optional<DmaBuf> region;
  std::optional<Error> exportError;
};

Failure exportFailure(const Allocation& allocation) {
  return failureOf(*allocation.exportError, allocConfigOptions);
}

/// Why an export that was made is mapped in the default way; nullopt where that was not tried otherwise.
std::optional<Failure> pcieFailure(const Allocation& allocation) {
  if(!allocation.region || allocation.region->pcieError().kind == Errc::None)
    return {};
  return failureOf(allocation.region->pcieError(), allocConfigOptions);
}

Json slotAsJson(const Allocation& allocation, std::size_t index) {
  const RdmaGpuSlot slot = allocation.buffer.slot(index);
  const Handoff handoff = allocation.buffer.handoff(index);
  Json dmaBuf;
  if(allocation.region)
    dmaBuf = {{"offset", allocation.buffer.slotOffset(index)}, {"size", slot.size}};
  return {{"index", index},
          // The number is what a person compares with a driver's log.
          {"gpu_va", slot.gpuVA ? Json(addressText(reinterpret_cast<std::uintptr_t>(slot.gpuVA))) : Json()},
          {"size", slot.size},
          {"handoff", {{"kind", name(kind(handoff))}, {"value", addressText(addressBits(handoff))}}},
          {"dma_buf", dmaBuf}};
}

std::string allocationAsJson(const Allocation& allocation) {
  const RdmaGpuBuffer& buffer = allocation.buffer;
  Json selection = Json::array();
  for(const Rejected& rejected : buffer.selection())
    selection.push_back({{"api", name(rejected.api)},
                         {"reason", toJson(withRingAdvice(failureOf(rejected.error, allocConfigOptions),
                                                          rejected.error, buffer.facts().slotCount))}});
  const auto pcieError = pcieFailure(allocation);
  Json slots = Json::array();
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    slots.push_back(slotAsJson(allocation, i));
  return jsonText({{"api", name(buffer.backend())},
                   {"proof", toJson(buffer.proof())},
                   {"selection", selection},
                   {"facts", toJson(buffer.facts())},
                   {"export_error", allocation.exportError ? toJson(exportFailure(allocation)) : Json()},
                   {"pcie_mapped", allocation.region ? Json(allocation.region->pcieMapped()) : Json()},
                   {"pcie_error", pcieError ? toJson(*pcieError) : Json()},
                   {"slots", slots}});
}

std::string exportText(const Allocation& allocation) {
  if(!allocation.exportError && !allocation.region)
    return "not asked for (--export)";
  if(allocation.region) {
    const auto pcieError = pcieFailure(allocation);
    return std::string{"one dma-buf for all slots"} +
           (allocation.region->pcieMapped() ? ", mapped through PCIe" : "") +
           (pcieError ? ", mapped in the driver's default way: " + pcieError->message : "");
  }
  const Failure failure = exportFailure(allocation);
  std::string text = "not possible: " + failure.message;
  for(const std::string& hint : failure.hints)
    text += "\nhint: " + hint;
  return text;
}

std::string slotTable(const Allocation& allocation, std::size_t shown) {
  const RdmaGpuBuffer& buffer = allocation.buffer;
  std::vector<std::vector<std::string>> rows{{"SLOT", "HANDOFF", "VALUE", "SIZE", "DMA-BUF OFFSET"}};
  for(std::size_t i = 0; i < shown; ++i) {
    const Handoff handoff = buffer.handoff(i);
    rows.push_back({fmt::format("{}", i), name(kind(handoff)), addressText(addressBits(handoff)),
                    fmt::format("{}", buffer.slot(i).size),
                    allocation.region ? fmt::format("{}", buffer.slotOffset(i)) : "-"});
  }
  std::string text = columns(rows);
  if(shown < buffer.slotCount())
    text += fmt::format("... {} more, one every {} bytes (--all lists them)\n", buffer.slotCount() - shown,
                        buffer.facts().slotStride);
  return text;
}

std::string allocationAsText(const Allocation& allocation, bool all) {
  constexpr std::size_t mostShown = 16;
  const RdmaGpuBuffer& buffer = allocation.buffer;
  auto facts = memoryFacts(buffer);
  facts.emplace_back("export", exportText(allocation));
  const std::size_t shown = all ? buffer.slotCount() : std::min(buffer.slotCount(), mostShown);
  return factLines(facts) + "\n" + slotTable(allocation, shown);
}

int hold(const AllocOptions& options) {
  catchSignals();
  if(!options.json)
    printNote("alloc: held until Ctrl-C or SIGTERM");
  waitForSignal();
  // Being told to end is how a holder ends well; Ctrl-C is answered as everywhere.
  return stopSignal() == SIGTERM ? exitDone : 128 + stopSignal();
}

int runAlloc(const AllocOptions& options) {
  auto made = RdmaGpuBuffer::make(options.config());
  if(!made) {
    const Failure failure =
        allocationFailure(made.error(), options.buffer.api, options.buffer.slots, allocConfigOptions);
    return fail("alloc", options.json, failure);
  }
  noteUnusedGpu("alloc", options.buffer.gpu, *made);
  Allocation allocation{.buffer = std::move(*made), .region = {}, .exportError = {}};
  if(options.exports) {
    if(auto exported = allocation.buffer.exportRegion())
      allocation.region = std::move(*exported);
    else
      allocation.exportError = exported.error();
  }
  if(allocation.exportError && options.config().pcieMapping == PcieMapping::Require)
    return fail("alloc", options.json, exportFailure(allocation));
  const std::string text =
      options.json ? allocationAsJson(allocation) : allocationAsText(allocation, options.all);
  const int shown = finishWith(text, "alloc", exitDone);
  return options.hold && shown == exitDone ? hold(options) : shown;
}

template <class T>
Expected<T> parseChoice(const std::string& text, std::initializer_list<std::pair<const char*, T>> choices) {
  std::string names;
  for(const auto& [name, value] : choices) {
    if(text == name)
      return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return InputError{InputErrorKind::BadValue, fmt::format("{} is none of {}", quote(text), names)};
}

Expected<PageLock> parseLock(const std::string& text) {
  return parseChoice<PageLock>(
      text, {{"try", PageLock::Try}, {"require", PageLock::Require}, {"off", PageLock::Off}});
}

Expected<HugePages> parseHugePages(const std::string& text) {
  return parseChoice<HugePages>(
      text, {{"off", HugePages::Off}, {"try", HugePages::Try}, {"require", HugePages::Require}});
}

Expected<int> parseNode(const std::string& text) {
  const auto node = parseCount(text, 0, 1023);
  if(!node)
    return node.error();
  return static_cast<int>(*node);
}

Expected<PcieMapping> parsePcieMapping(const std::string& text) {
  return parseChoice<PcieMapping>(
      text, {{"off", PcieMapping::Off}, {"try", PcieMapping::Try}, {"require", PcieMapping::Require}});
}

void addHostOptions(CLI::App& app, AllocOptions& options) {
  addParsed(app, "--lock", options.lock, parseLock,
            "Lock the pages into memory: try (default), require, or off")
      ->type_name("MODE")
      ->group("Host memory");
  addParsed(app, "--huge-pages", options.hugePages, parseHugePages,
            "Use 2 MiB pages of the kernel's pool: off (default), try, or require")
      ->type_name("MODE")
      ->group("Host memory");
  addParsed(app, "--node", options.node, parseNode,
            "NUMA node to take the pages from (default: the peer's where it is known, else any)")
      ->type_name("N")
      ->group("Host memory");
  addGpuPin(app, options.buffer.gpuPin);
  app.add_flag("--no-memfd", options.noMemfd, "Use anonymous pages, which can be neither exported nor shared")
      ->group("Host memory");
}

void addSlotOptions(CLI::App& app, AllocOptions& options) {
  addApi(app, options.buffer.api);
  addSlots(app, options.buffer.slots);
  addBytes(app, options.buffer.bytes);
  addGpu(app, options.buffer.gpu);
  addCudaMemory(app, options.buffer.cudaMemory);
  addParsed(app, "--peer-pci", options.peer, parsePci,
            "Where the peer is on the PCI bus: the nearest GPU, if none is chosen, or its NUMA node is taken")
      ->type_name("PCI")
      ->group("Slots");
  app.add_flag("--zero", options.zero, "Hand the slots out cleared; host memory always is")->group("Slots");
  app.add_flag("--scrub", options.scrub, "Overwrite the slots with zeros before they are given back")
      ->group("Slots");
  app.add_flag("--ignore-budget", options.ignoreBudget, "Try even if more is asked than is free")
      ->group("Slots");
}

} // namespace

Command addAlloc(CLI::App& program) {
  CLI::App* app = program.add_subcommand("alloc", "Allocate slots and print every handoff and fact of them");
  const auto options = std::make_shared<AllocOptions>();
  addSlotOptions(*app, *options);
  addHostOptions(*app, *options);
  auto* exports = app->add_flag("--export", options->exports,
                                "Export all slots as one dma-buf, or say why that cannot be done");
  addParsed(
      *app, "--pcie-mapping", options->pcieMapping, parsePcieMapping,
      "CUDA: map the export through PCIe and not through a coherent link to the CPU: off (default), try, "
      "or require")
      ->type_name("MODE")
      ->needs(exports);
  app->add_flag("--all", options->all, "List every slot, not only the first 16 (JSON always lists all)");
  app->add_flag("--hold", options->hold,
                "Keep the slots until Ctrl-C (exit status 130) or SIGTERM (exit status 0)");
  addJson(*app, options->json);
  app->footer("Examples:\n  rdmagpu alloc\n  rdmagpu alloc --api host --slots 64 --bytes 8M --lock require\n"
              "  rdmagpu alloc --export --json | jq '.slots[0].dma_buf'");
  return {app, [options] { return runAlloc(*options); }};
}

} // namespace rdmagpu::cli
