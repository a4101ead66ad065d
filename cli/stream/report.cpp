#include "stream/report.hpp"

#include "human.hpp"
#include "memory_text.hpp"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace rdmagpu::cli {
namespace {

double perSecond(std::uint64_t count, std::int64_t nanoseconds) noexcept {
  return nanoseconds > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(nanoseconds) : 0.0;
}

const char* policyName(RingPolicy policy) {
  switch(policy) {
  case RingPolicy::Fifo:
    return "fifo";
  case RingPolicy::Newest:
    return "newest";
  }
  return "?";
}

std::string framesText(const StreamReport& report) {
  return fmt::format("{} ({} checked, {} {}){}", report.totals.frames, report.check.checked,
                     report.check.mismatches, report.check.mismatches == 1 ? "mismatch" : "mismatches",
                     report.interrupted ? ", then interrupted" : "");
}

std::string dropsText(const StreamReport& report) {
  if(!report.device)
    return fmt::format("{}", report.ring.drops);
  return fmt::format("{} ({} lost by the device, {} damaged), {} timeouts", report.ring.drops,
                     report.device->lost, report.device->faulty, report.device->timeouts);
}

std::string throughputText(const StreamReport& report) {
  if(report.nanoseconds == 0)
    return "not measured";
  return fmt::format("{:.1f} fps, {:.2f} GB/s, {} in all", report.framesPerSecond(),
                     report.bytesPerSecond() / 1e9, durationText(report.nanoseconds));
}

std::string directionText(const StreamReport& report) {
  const std::string way = report.playout ? fmt::format("playout: CPU -> slots -> {} peer", report.peer)
                                         : fmt::format("capture: {} peer -> slots -> CPU", report.peer);
  return fmt::format("{}, {}", way, policyName(report.policy));
}

std::string latencyText(const LatencyHistogram& latency) {
  if(latency.count() == 0)
    return "not measured";
  return fmt::format("p50 {}, p95 {}, p99 {}, max {}", durationText(latency.percentile(50)),
                     durationText(latency.percentile(95)), durationText(latency.percentile(99)),
                     durationText(latency.max()));
}

/// Null rather than 0, which would be a good one.
Json latencyAsJson(const LatencyHistogram& latency) {
  const auto value = [&](std::int64_t nanoseconds) {
    return latency.count() == 0 ? Json() : Json(nanoseconds);
  };
  return {{"p50", value(latency.percentile(50))},
          {"p95", value(latency.percentile(95))},
          {"p99", value(latency.percentile(99))},
          {"max", value(latency.max())}};
}

std::string place(const Mismatch& mismatch) {
  return fmt::format("frame {}, slot {}, byte {}{}", mismatch.frame, mismatch.slot, mismatch.offset,
                     mismatch.damage == Damage::Other ? "" : fmt::format(" ({})", name(mismatch.damage)));
}

Json mismatchList(const CheckCounts& check) {
  Json list = Json::array();
  for(const Mismatch& mismatch : check.first)
    list.push_back({{"frame", mismatch.frame},
                    {"slot", mismatch.slot},
                    {"offset", mismatch.offset},
                    {"damage", name(mismatch.damage)}});
  return list;
}

/// "1 torn, 2 late".
std::string faultsText(const FrameProofCounters& proof) {
  std::string text;
  const auto add = [&](std::uint64_t count, FrameFault fault) {
    if(count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(fault));
  };
  add(proof.stale, FrameFault::Stale);
  add(proof.torn, FrameFault::Torn);
  add(proof.late, FrameFault::Late);
  add(proof.wrongOffset, FrameFault::WrongOffset);
  add(proof.shortFrames, FrameFault::Short);
  add(proof.unchecked, FrameFault::Unchecked);
  return text;
}

const char* whatWasDone(const StreamReport& report) {
  if(report.failedOver)
    return "; failed over";
  return report.onFault == FaultPolicy::Drop ? "; faulty ones are dropped" : "";
}

const char* policyName(FaultPolicy policy) {
  switch(policy) {
  case FaultPolicy::Report:
    return "report";
  case FaultPolicy::Drop:
    return "drop";
  case FaultPolicy::FailOver:
    return "fail-over";
  }
  return "?";
}

std::string frameProofText(const StreamReport& report) {
  if(!report.frameProof)
    return "none yet";
  const FrameProofCounters& proof = *report.frameProof;
  return fmt::format("{} frames looked at, {}{}", proof.checked,
                     proof.faults() == 0 ? "no fault" : faultsText(proof), whatWasDone(report));
}

Json frameProofAsJson(const StreamReport& report) {
  if(!report.frameProof)
    return {};
  const FrameProofCounters& proof = *report.frameProof;
  return {{"on_fault", policyName(report.onFault.value_or(FaultPolicy{}))},
          {"failed_over", report.failedOver},
          {"checked", proof.checked},
          {"stale", proof.stale},
          {"torn", proof.torn},
          {"late", proof.late},
          {"wrong_offset", proof.wrongOffset},
          {"short", proof.shortFrames},
          {"unchecked", proof.unchecked}};
}

bool staged(const StreamReport& report) noexcept { return report.staging || onGpu(*report.memory); }

std::string pathText(const StreamReport& report) {
  const char* memory = onGpu(*report.memory) ? "GPU" : "host";
  if(report.staging)
    return fmt::format("staged (the peer's slots {} {} memory, consumer on the CPU)",
                       report.playout ? "<-" : "->", memory);
  return fmt::format("{} ({} memory, consumer on the CPU){}", staged(report) ? "staged" : "direct", memory,
                     report.failedOver ? ", then staged through slots of the peer's" : "");
}

const char* whoMoves(const StreamReport& report) {
  return report.device && !report.staging ? name(Agent::Device) : name(moverOf(*report.memory));
}

std::string deviceText(const DeviceReport& device) {
  const std::string rate = device.rate.numerator == 0 || device.rate.denominator == 0
                               ? ""
                               : fmt::format(", {}/{} fps", device.rate.numerator, device.rate.denominator);
  std::string text =
      fmt::format("{} {}x{}, {} bytes a frame, {} a line{}; slots by {}", device.format, device.width,
                  device.height, device.frameBytes, device.bytesPerLine, rate, device.memory);
  if(device.fallback.kind != Errc::None)
    text += fmt::format("\nnot the program's: {}", device.fallback.message());
  if(device.memoryReason.kind != Errc::None)
    text += fmt::format("\nnot as dma-bufs: {}", device.memoryReason.message());
  return text;
}

Json deviceAsJson(const StreamReport& report) {
  if(!report.device)
    return {};
  const DeviceReport& device = *report.device;
  const auto orNull = [](const Error& error) {
    return error.kind == Errc::None ? Json() : Json(error.message());
  };
  return {{"format", device.format},
          {"width", device.width},
          {"height", device.height},
          {"bytes_per_line", device.bytesPerLine},
          {"frame_bytes", device.frameBytes},
          {"rate", {device.rate.numerator, device.rate.denominator}},
          {"memory", device.memory},
          {"memory_reason", orNull(device.memoryReason)},
          {"fallback", orNull(device.fallback)},
          {"lost", device.lost},
          {"faulty", device.faulty},
          {"timeouts", device.timeouts}};
}

std::string moverText(const StreamReport& report) {
  if(report.device && !report.staging)
    return "the device, by its driver";
  std::string mover = moverName(*report.memory);
  if(onGpu(*report.memory) && moverOf(*report.memory) == Agent::Software)
    return mover;
  if(report.staging)
    return mover + ", between the peer's slots and the program's";
  return mover + (onGpu(*report.memory) ? ", for a peer in software" : ", which the peer runs on");
}

} // namespace

double StreamReport::bytesPerSecond() const noexcept { return perSecond(totals.bytes, nanoseconds); }
double StreamReport::framesPerSecond() const noexcept { return perSecond(totals.frames, nanoseconds); }

std::string reportText(const StreamReport& report) {
  const std::string proof = proofText(report.proof);
  const std::string device = report.device ? deviceText(*report.device) : "";
  std::vector<std::pair<std::string, std::string>> lines{
      {"input", report.input},
      {"direction", directionText(report)},
      {"frames", framesText(report)},
      {"drops", dropsText(report)},
      {"underruns", fmt::format("{}", report.ring.underruns)},
      {"throughput", throughputText(report)},
      {"latency", latencyText(report.latency)},
      {"memory", report.memory ? memoryLine(*report.memory) : "none yet"},
  };
  if(report.device)
    lines.insert(lines.begin() + 1, {"device", device});
  if(const auto ring = report.memory ? ringText(*report.memory) : std::nullopt)
    lines.emplace_back("ring", *ring);
  if(report.staging) {
    lines.emplace_back("peer's memory", memoryLine(report.staging->peer));
    lines.emplace_back("slices", fmt::format("{} bytes or more", report.staging->sliceBytes));
  }
  lines.emplace_back("path", report.memory ? pathText(report) : "none yet");
  lines.emplace_back("moved by", report.memory ? moverText(report) : "none yet");
  if(report.onFault)
    lines.emplace_back("frame proof", frameProofText(report));
  lines.emplace_back("proof", proof.empty() ? "none yet" : proof);
  return factLines(lines);
}

Json toJson(const StreamReport& report) {
  return {{"api", report.memory ? Json(name(report.memory->api)) : Json()},
          {"path", report.memory ? Json(name(staged(report) ? SlotPath::Staged : SlotPath::Direct)) : Json()},
          {"moved_by", report.memory ? Json(whoMoves(report)) : Json()},
          {"proof", toJson(report.proof)},
          {"direction", report.playout ? "playout" : "capture"},
          {"input", report.input},
          {"peer", report.peer},
          {"mode", policyName(report.policy)},
          {"frames", report.totals.frames},
          {"checked", report.check.checked},
          {"mismatches", report.check.mismatches},
          {"drops", report.ring.drops},
          {"underruns", report.ring.underruns},
          {"frame_proof", frameProofAsJson(report)},
          {"stale", report.check.stale},
          {"torn", report.check.torn},
          {"late", report.check.late},
          {"bytes", report.totals.bytes},
          {"seconds", static_cast<double>(report.nanoseconds) / 1e9},
          {"bytes_per_second", report.bytesPerSecond()},
          {"latency_ns", latencyAsJson(report.latency)},
          {"interrupted", report.interrupted},
          {"device", deviceAsJson(report)},
          {"first_mismatches", mismatchList(report.check)},
          {"facts", report.memory ? toJson(*report.memory) : Json()},
          {"peer_facts", report.staging ? toJson(report.staging->peer) : Json()},
          {"slice_bytes", report.staging ? Json(report.staging->sliceBytes) : Json()}};
}

std::optional<Failure> mismatchFailure(const CheckCounts& check) {
  if(check.mismatches == 0)
    return {};
  Failure failure{.kind = "Mismatch",
                  .message =
                      fmt::format("{} of {} checked frames {} not what the source was", check.mismatches,
                                  check.checked, check.mismatches == 1 ? "is" : "are")};
  for(const Mismatch& mismatch : check.first)
    failure.message += fmt::format("\n  {}", place(mismatch));
  if(check.mismatches > check.first.size())
    failure.message += fmt::format("\n  ... {} more", check.mismatches - check.first.size());
  return failure;
}

std::optional<Failure> faultFailure(const std::optional<FrameProofCounters>& proof) {
  if(!proof || proof->faults() == 0)
    return {};
  // Of the peer those say nothing.
  const char* what =
      proof->faults() == proof->unchecked
          ? "the slots could not be looked at, so that nobody knows whether the peer wrote as it said"
          : "the slots' memory shows that the peer did not write as it said";
  return Failure{.kind = "FrameFault", .message = fmt::format("{}: {}", what, faultsText(*proof))};
}

} // namespace rdmagpu::cli
