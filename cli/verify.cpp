#include "command.hpp"
#include "failure.hpp"
#include "json.hpp"
#include "memory_text.hpp"
#include "options.hpp"
#include "output.hpp"
#include "verify/nic.hpp"
#include "verify/report.hpp"
#include "verify/verify_options.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace rdmagpu::cli {
namespace {

/// Proves the slots and prints what came of it.
int prove(const VerifyOptions& options, const RdmaGpuBuffer& buffer, Nic* nic) {
  if(nic) {
    if(const auto refused = nic->attach(buffer))
      return fail("verify", options.json, *refused);
  }
  auto report = nic ? verify(buffer, nic->peer()) : verify(buffer);
  if(!report)
    return fail("verify", options.json, failureOf(report.error(), verifyConfigOptions));
  if(nic)
    report->proof.registered = Answer::Yes;
  if(report->proof.by == Agent::CopyEngine)
    report->proof.by = moverOf(buffer.facts()); // a software device has none
  const auto failure = failureOf(*report, nic != nullptr);
  if(failure)
    printFailure("verify", *failure);
  const int exitCode = failure ? exitNo : exitDone;
  const std::optional<NicFacts> facts = nic ? std::optional{nic->facts()} : std::nullopt;
  if(!options.json)
    return finishWith(toText(*report, buffer.facts(), facts), "verify", exitCode);
  Json json = toJson(*report, buffer.backend(), facts);
  if(failure)
    json["error"] = toJson(*failure);
  return finishWith(jsonText(json), "verify", exitCode);
}

int runVerify(const VerifyOptions& options) {
  if(options.gid && !options.peer.nic)
    return fail("verify", options.json, usageFailure("verify", "--gid is for --peer verbs:DEVICE"),
                exitUsage);
  if(!options.peer.present)
    return fail("verify", options.json, absentPeer("verify", options.peer, "software and verbs:DEVICE"));
  std::unique_ptr<Nic> nic;
  if(options.peer.nic) {
    auto opened = Nic::open(options);
    if(const Failure* refused = std::get_if<Failure>(&opened))
      return fail("verify", options.json, *refused);
    nic = std::move(*std::get_if<std::unique_ptr<Nic>>(&opened));
  }
  RdmaGpuBufferConfig config = options.buffer.config();
  if(!nic) // what a peer on the CPU can reach
    config.accepts = {HandoffKind::HostPointer, HandoffKind::PciMapping};
  const auto buffer = RdmaGpuBuffer::make(config);
  if(!buffer)
    return fail(
        "verify", options.json,
        allocationFailure(buffer.error(), options.buffer.api, options.buffer.slots, verifyConfigOptions));
  noteUnusedGpu("verify", options.buffer.gpu, *buffer);
  return prove(options, *buffer, nic.get());
}

} // namespace

Command addVerify(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "verify", "Prove that a peer's writes arrive and its reads are right, slot by slot");
  const auto options = std::make_shared<VerifyOptions>();
  addPeer(*app, options->peer);
  addGid(*app, options->gid);
  addApi(*app, options->buffer.api);
  addSlots(*app, options->buffer.slots);
  addBytes(*app, options->buffer.bytes);
  addGpu(*app, options->buffer.gpu);
  addCudaMemory(*app, options->buffer.cudaMemory);
  addJson(*app, options->json);
  app->footer("Examples:\n  rdmagpu verify\n  rdmagpu verify --api host --slots 64 --bytes 1M --json\n"
              "  rdmagpu verify --api cuda\n"
              "  rdmagpu verify --peer verbs:mlx5_0 --api cuda\n"
              "Exit status: 0 both directions are proven, 1 they are not.");
  return {app, [options] { return runVerify(*options); }};
}

} // namespace rdmagpu::cli
