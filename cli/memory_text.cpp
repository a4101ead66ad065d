#include "memory_text.hpp"

#include "hints.hpp"
#include "human.hpp"

#include <fmt/core.h>

namespace rdmagpu::cli {
namespace {

std::string withReason(std::string text, const Error& error) {
  if(error.kind == Errc::None)
    return text;
  text += ": " + error.message();
  for(const std::string& hint : hintsOf(error))
    text += "\nhint: " + hint;
  return text;
}

std::string lockText(const BufferFacts& facts) {
  if(facts.lockError.kind != Errc::None)
    return withReason("no", facts.lockError);
  if(facts.lockedBytes != 0)
    return bytesText(facts.lockedBytes);
  return facts.hugePageBytes != 0 ? "no, and huge pages need not be" : "no, as asked";
}

const char* directText(Answer answer) {
  switch(answer) {
  case Answer::Yes:
    return "yes: these are the bytes that it uses";
  case Answer::No:
    return "no: it copies them into its own memory";
  case Answer::Unknown:
    return "no GPU's driver knows of it";
  }
  return "";
}

std::string pagesText(const BufferFacts& facts) {
  std::string text = fmt::format("{} bytes each", facts.pageBytes);
  if(facts.hugePageBytes != 0)
    text += fmt::format(", {} in huge pages", bytesText(facts.hugePageBytes));
  return text;
}

std::string bar1Text(const BufferFacts& facts) {
  if(facts.bar1Bytes == 0)
    return "unknown";
  if(facts.bar1FreeBytes)
    return fmt::format("{}, of which {} were free", bytesText(facts.bar1Bytes),
                       bytesText(*facts.bar1FreeBytes));
  return bytesText(facts.bar1Bytes) + ", all of the GPU's memory";
}

using Lines = std::vector<std::pair<std::string, std::string>>;

void addHostFacts(Lines& lines, const BufferFacts& facts) {
  lines.emplace_back("locked", lockText(facts));
  lines.emplace_back("pinned by", withReason(name(facts.pinnedBy), facts.pinError));
  lines.emplace_back("NUMA node", facts.numaNode < 0 ? "unknown" : fmt::format("{}", facts.numaNode));
  lines.emplace_back("memfd", facts.memfd ? "yes" : "no");
}

void addGpuFacts(Lines& lines, const BufferFacts& facts) {
  if(facts.cudaMemory != CudaMemory::Auto)
    lines.emplace_back("CUDA memory", withReason(name(facts.cudaMemory), facts.cudaMemoryReason));
  if(facts.syncMemops != Answer::Unknown)
    lines.emplace_back("SYNC_MEMOPS", withReason(name(facts.syncMemops), facts.syncMemopsError));
  lines.emplace_back("BAR1", bar1Text(facts));
  if(const auto ring = ringText(facts))
    lines.emplace_back("ring", *ring);
  const char* const ordered = facts.writesOrderedForAll == Answer::No
                                  ? "are seen in order by this GPU, by others after a flush"
                                  : "are seen in order";
  lines.emplace_back("peer's writes", facts.writesNeedFlush ? "need a flush to be seen" : ordered);
}

void addP2pmemFacts(Lines& lines, const BufferFacts& facts) {
  lines.emplace_back("p2pmem", fmt::format("{}, of which {} were free", bytesText(facts.p2pmemBytes),
                                           bytesText(facts.p2pmemFreeBytes)));
  lines.emplace_back("NUMA node", facts.numaNode < 0 ? "unknown" : fmt::format("{}", facts.numaNode));
}

void addMemoryFacts(Lines& lines, const BufferFacts& facts) {
  if(facts.api == RdmaGpuApi::HostFallback)
    addHostFacts(lines, facts);
  else if(facts.api == RdmaGpuApi::PciP2p)
    addP2pmemFacts(lines, facts);
  else
    addGpuFacts(lines, facts);
}

const char* agentText(Agent agent) {
  switch(agent) {
  case Agent::None:
    return "";
  case Agent::Cpu:
    return " by the CPU";
  case Agent::CopyEngine:
    return " by the GPU's copy engine (no third-party device is proven)";
  case Agent::Software:
    return " by a software device (no hardware path is proven)";
  case Agent::Device:
    return " by a device";
  }
  return "";
}

} // namespace

std::vector<std::pair<std::string, std::string>> memoryFacts(const RdmaGpuBuffer& buffer) {
  const BufferFacts& facts = buffer.facts();
  Lines lines{{"backend", fmt::format("{} ({}{})", name(facts.api), facts.device,
                                      facts.pci ? ", " + facts.pci->text() : "")},
              {"slots", fmt::format("{} of {} bytes, one every {} bytes", facts.slotCount, facts.frameBytes,
                                    facts.slotStride)},
              {"requested", bytesText(facts.requestedBytes)},
              {"committed", bytesText(facts.committedBytes)},
              {"resident", bytesText(facts.residentBytes)},
              {"pages", pagesText(facts)}};
  addMemoryFacts(lines, facts);
  lines.emplace_back("direct for GPU", directText(facts.directForGpu));
  lines.emplace_back("RDMA capable",
                     facts.rdmaCapable == Answer::Unknown ? "no driver to ask" : name(facts.rdmaCapable));
  lines.emplace_back("proof", proofText(buffer.proof()));
  for(const Error& error : facts.tolerated)
    lines.emplace_back("tolerated", error.message());
  for(const Rejected& rejected : buffer.selection())
    lines.emplace_back("passed over", fmt::format("{}: {}", name(rejected.api), rejected.error.message()));
  return lines;
}

std::optional<std::string> ringText(const BufferFacts& facts) {
  constexpr std::uint32_t deep = 16;
  if(!facts.bar1Slots || *facts.bar1Slots >= deep)
    return {};
  return fmt::format("keep it shallow: of these slots BAR1 has room for {}", *facts.bar1Slots);
}

std::string memoryLine(const BufferFacts& facts) {
  const bool cuda = facts.cudaMemory != CudaMemory::Auto;
  const bool p2p = facts.api == RdmaGpuApi::PciP2p;
  std::string text = fmt::format("{}{}{}, {} slots of {} bytes", name(facts.api), cuda ? " " : "",
                                 cuda ? name(facts.cudaMemory) : "", facts.slotCount, facts.slotStride);
  if(facts.api != RdmaGpuApi::HostFallback)
    return text + fmt::format(" on {}{}", facts.device, p2p && facts.pci ? ", " + facts.pci->text() : "");
  text += facts.memfd ? ", memfd" : ", anonymous";
  if(facts.hugePageBytes != 0)
    text += fmt::format(", {} bytes in huge pages", facts.hugePageBytes);
  else
    text += fmt::format(", {}locked, {}-byte pages", facts.lockedBytes != 0 ? "" : "not ", facts.pageBytes);
  return text;
}

bool onGpu(const BufferFacts& memory) noexcept {
  return memory.api != RdmaGpuApi::HostFallback && memory.api != RdmaGpuApi::PciP2p;
}

Agent moverOf(const BufferFacts& memory) {
  const bool standin = memory.device.starts_with("rdmagpu software device");
  return onGpu(memory) && !standin ? Agent::CopyEngine : Agent::Software;
}

const char* moverName(const BufferFacts& memory) {
  if(moverOf(memory) == Agent::CopyEngine)
    return "the GPU's copy engine";
  return onGpu(memory) ? "a software device in the GPU's place" : "the CPU";
}

std::string proofText(const Proof& proof) {
  std::string text;
  const auto add = [&](Answer answer, const char* step) {
    if(answer != Answer::Unknown)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", answer == Answer::No ? "not " : "", step);
  };
  add(proof.allocated, "allocated");
  add(proof.capable, "capable");
  add(proof.exported, "exported");
  add(proof.registered, "registered");
  add(proof.written, "written");
  add(proof.read, "read");
  return text + agentText(proof.by);
}

} // namespace rdmagpu::cli
