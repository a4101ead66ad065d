#include "command.hpp"
#include "failure.hpp"
#include "human.hpp"
#include "json.hpp"
#include "memory_text.hpp"
#include "options.hpp"
#include "output.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace rdmagpu::cli {
namespace {

struct VerifyCommand {
  BufferOptions buffer;
  PeerOption peer;
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

std::string moverText(const VerifyReport& report, const BufferFacts& facts) {
  if(report.proof.by == Agent::None)
    return "nothing was moved";
  return fmt::format("{}: this proves rdmagpu's own plumbing, and no third-party device", moverName(facts));
}

std::string toText(const VerifyReport& report, const BufferFacts& facts) {
  return factLines({{"peer", report.peer},
                    {"memory", memoryLine(facts)},
                    {"write", fmt::format("{} (peer -> {} slots, checked on the memory's side)",
                                          verdict(report.write), report.slots)},
                    {"read", fmt::format("{} ({} slots -> peer, checked on the peer's side)",
                                         verdict(report.read), report.slots)},
                    {"moved by", moverText(report, facts)},
                    {"proof", proofText(report.proof)}});
}

/// Empty when both directions are proven.
std::optional<Failure> failureOf(const VerifyReport& report) {
  for(const Error& error : {report.writeError, report.readError}) {
    if(error.kind != Errc::None)
      return cli::failureOf(error, verifyConfigOptions);
  }
  if(report.write == Answer::Yes && report.read == Answer::Yes)
    return {};
  constexpr std::size_t mostListed = 8;
  Failure failure{
      .kind = "Mismatch",
      .message = "the slots do not hold what was sent",
      .hints = {"Run it with '--api host' too: where that is proven, look at the GPU's own errors with "
                "'nvidia-smi -q -d ECC' and 'dmesg | grep -iE \"nvrm|xid\"'."}};
  const std::size_t shown = std::min(report.failures.size(), mostListed);
  for(std::size_t i = 0; i < shown; ++i)
    failure.message += "\n  " + place(report.failures[i]);
  if(shown < report.failures.size())
    failure.message += fmt::format("\n  ... {} more", report.failures.size() - shown);
  return failure;
}

int runVerify(const VerifyCommand& options) {
  if(!options.peer.present)
    return fail("verify", options.json, absentPeer(options.peer));
  RdmaGpuBufferConfig config = options.buffer.config();
  // What a peer on the CPU can reach.
  config.accepts = {HandoffKind::HostPointer, HandoffKind::PciMapping};
  const auto buffer = RdmaGpuBuffer::make(config);
  if(!buffer)
    return fail(
        "verify", options.json,
        allocationFailure(buffer.error(), options.buffer.api, options.buffer.slots, verifyConfigOptions));
  noteUnusedGpu("verify", options.buffer.gpu, *buffer);
  auto report = verify(*buffer);
  if(!report)
    return fail("verify", options.json, cli::failureOf(report.error(), verifyConfigOptions));
  if(report->proof.by == Agent::CopyEngine)
    report->proof.by = moverOf(buffer->facts()); // a software device has none
  const auto failure = failureOf(*report);
  if(failure)
    printFailure("verify", *failure);
  const int exitCode = failure ? exitNo : exitDone;
  if(!options.json)
    return finishWith(toText(*report, buffer->facts()), "verify", exitCode);
  Json json = toJson(*report, buffer->backend());
  if(failure)
    json["error"] = cli::toJson(*failure);
  return finishWith(jsonText(json), "verify", exitCode);
}

} // namespace

Command addVerify(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "verify", "Prove that a peer's writes arrive and its reads are right, slot by slot");
  const auto options = std::make_shared<VerifyCommand>();
  addPeer(*app, options->peer);
  addApi(*app, options->buffer.api);
  addSlots(*app, options->buffer.slots);
  addBytes(*app, options->buffer.bytes);
  addGpu(*app, options->buffer.gpu);
  addCudaMemory(*app, options->buffer.cudaMemory);
  addJson(*app, options->json);
  app->footer("Examples:\n  rdmagpu verify\n  rdmagpu verify --api host --slots 64 --bytes 1M --json\n"
              "  rdmagpu verify --api cuda\n"
              "Exit status: 0 both directions are proven, 1 they are not.");
  return {app, [options] { return runVerify(*options); }};
}

} // namespace rdmagpu::cli
