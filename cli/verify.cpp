#include "command.hpp"
#include "failure.hpp"
#include "human.hpp"
#include "json.hpp"
#include "memory_text.hpp"
#include "options.hpp"
#include "output.hpp"
#include "verify_block.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::cli {
namespace {

struct VerifyCommand {
  BufferOptions buffer;
  PeerOption peer;
  bool overwrite{};
  bool json{};
};

const char* verdict(Answer answer) {
  switch(answer) {
  case Answer::Yes:
    return "proven";
  case Answer::No:
    return "failed";
  case Answer::Unknown:
    return "not-tried";
  }
  return "?";
}

const char* name(Direction direction) { return direction == Direction::Write ? "write" : "read"; }

std::string place(const VerifyFailure& failure) {
  const std::string where = fmt::format("{} of slot {}", name(failure.direction), failure.slot);
  if(failure.error.kind != Errc::None)
    return where + ": " + failure.error.message();
  if(failure.untouched)
    return where + ": nothing arrived, although the peer reported success";
  return fmt::format("{}: {} wrong bytes, the first at {}", where, failure.wrongBytes, failure.offset);
}

Json toJson(const VerifyFailure& failure) {
  return {{"slot", failure.slot},
          {"direction", name(failure.direction)},
          {"offset", failure.offset},
          {"wrong_bytes", failure.wrongBytes},
          {"untouched", failure.untouched},
          {"error", failure.error.kind == Errc::None
                        ? Json()
                        : cli::toJson(failureOf(failure.error, verifyConfigOptions))}};
}

Json toJson(const VerifyReport& report, RdmaGpuApi api) {
  Json failures = Json::array();
  for(const VerifyFailure& failure : report.failures)
    failures.push_back(toJson(failure));
  return {{"api", name(api)},
          {"peer", report.peer},
          {"slots", report.slots},
          {"write", verdict(report.write)},
          {"read", verdict(report.read)},
          {"proof", cli::toJson(report.proof)},
          {"failures", failures}};
}

std::string moverText(const BufferFacts& facts) {
  return fmt::format("{}: this proves rdmagpu's own plumbing, and no third-party device", moverName(facts));
}

std::string toText(const VerifyReport& report, const BufferFacts& facts, const std::string& mover) {
  return factLines({{"peer", report.peer},
                    {"memory", memoryLine(facts)},
                    {"write", fmt::format("{} (peer -> {} slots, checked on the memory's side)",
                                          verdict(report.write), report.slots)},
                    {"read", fmt::format("{} ({} slots -> peer, checked on the peer's side)",
                                         verdict(report.read), report.slots)},
                    {"moved by", report.proof.by == Agent::None ? "nothing was moved" : mover},
                    {"proof", proofText(report.proof)}});
}

/// Empty when each direction is proven that was not left out.
std::optional<Failure> failureOf(const VerifyReport& report, std::vector<std::string> hints) {
  for(const Error& error : {report.writeError, report.readError}) {
    if(error.kind != Errc::None && !isLeftOut(error))
      return cli::failureOf(error, verifyConfigOptions);
  }
  if(report.write == Answer::Yes && (report.read == Answer::Yes || isLeftOut(report.readError)))
    return {};
  constexpr std::size_t mostListed = 8;
  Failure failure{
      .kind = "Mismatch", .message = "the slots do not hold what was sent", .hints = std::move(hints)};
  const std::size_t shown = std::min(report.failures.size(), mostListed);
  for(std::size_t i = 0; i < shown; ++i)
    failure.message += "\n  " + place(report.failures[i]);
  if(shown < report.failures.size())
    failure.message += fmt::format("\n  ... {} more", report.failures.size() - shown);
  return failure;
}

const std::vector<std::string> gpuHints{
    "Run it with '--api host' too: where that is proven, look at the GPU's own errors with "
    "'nvidia-smi -q -d ECC' and 'dmesg | grep -iE \"nvrm|xid\"'."};

/// What the peer did, and who it was.
struct Outcome {
  VerifyReport report;
  std::string mover;
  std::vector<std::string> hints;
  std::optional<BlockPeer> block{}; ///< The report has its name.
};

Result<Outcome> verifySoftware(const RdmaGpuBuffer& buffer) {
  auto report = verify(buffer);
  if(!report)
    return report.error();
  if(report->proof.by == Agent::CopyEngine)
    report->proof.by = moverOf(buffer.facts()); // a software device has none
  return Outcome{.report = *std::move(report), .mover = moverText(buffer.facts()), .hints = gpuHints};
}

Result<Outcome> verifyBlock(const RdmaGpuBuffer& buffer, const VerifyCommand& options) {
  auto peer = openBlockPeer(buffer, options.peer.block, options.overwrite);
  if(!peer)
    return peer.error();
  auto report = verify(buffer, *peer);
  if(!report)
    return report.error();
  return Outcome{.report = *std::move(report),
                 .mover = blockMover(*peer),
                 .hints = lostBytesHints(buffer.facts()),
                 .block = *std::move(peer)};
}

int show(const Outcome& outcome, const RdmaGpuBuffer& buffer, bool asJson) {
  const auto failure = failureOf(outcome.report, outcome.hints);
  if(failure)
    printFailure("verify", *failure);
  const int exitCode = failure ? exitNo : exitDone;
  if(!asJson)
    return finishWith(toText(outcome.report, buffer.facts(), outcome.mover), "verify", exitCode);
  Json json = toJson(outcome.report, buffer.backend());
  if(outcome.block)
    addBlockPeer(json, *outcome.block, buffer.slot(0).size);
  if(failure)
    json["error"] = cli::toJson(*failure);
  return finishWith(jsonText(json), "verify", exitCode);
}

int runVerify(const VerifyCommand& options) {
  const bool block = !options.peer.block.empty();
  if(!block && !options.peer.present)
    return fail("verify", options.json, absentPeer(options.peer));
  if(!block && options.overwrite)
    return fail("verify", options.json,
                usageFailure("verify", "--overwrite: only --peer block:PATH has something to overwrite"),
                exitUsage);
  RdmaGpuBufferConfig config = options.buffer.config();
  // What a peer on the CPU, and the kernel for its drives, can reach.
  config.accepts = {HandoffKind::HostPointer, HandoffKind::PciMapping};
  const auto buffer = RdmaGpuBuffer::make(config);
  if(!buffer)
    return fail(
        "verify", options.json,
        allocationFailure(buffer.error(), options.buffer.api, options.buffer.slots, verifyConfigOptions));
  noteUnusedGpu("verify", options.buffer.gpu, *buffer);
  const auto outcome = block ? verifyBlock(*buffer, options) : verifySoftware(*buffer);
  if(!outcome)
    return fail("verify", options.json, cli::failureOf(outcome.error(), verifyConfigOptions));
  return show(*outcome, *buffer, options.json);
}

} // namespace

Command addVerify(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "verify", "Prove that a peer's writes arrive and its reads are right, slot by slot");
  const auto options = std::make_shared<VerifyCommand>();
  addPeer(*app, options->peer);
  app->add_flag(
      "--overwrite", options->overwrite,
      "block:PATH: have both directions proven; the first bytes of the device, as many as a slot has, "
      "are lost. Refused where the device is in use");
  addApi(*app, options->buffer.api);
  addSlots(*app, options->buffer.slots);
  addBytes(*app, options->buffer.bytes);
  addGpu(*app, options->buffer.gpu);
  addCudaMemory(*app, options->buffer.cudaMemory);
  addJson(*app, options->json);
  app->footer("Examples:\n  rdmagpu verify\n  rdmagpu verify --api host --slots 64 --bytes 1M --json\n"
              "  rdmagpu verify --api cuda\n"
              "  rdmagpu verify --api pci-p2p --gpu 03:00.0 --peer block:/dev/nvme1n1\n"
              "Exit status: 0 both directions are proven, or the one that a device can prove\n"
              "which is only read; 1 they are not.");
  return {app, [options] { return runVerify(*options); }};
}

} // namespace rdmagpu::cli
