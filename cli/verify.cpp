#include "command.hpp"
#include "failure.hpp"
#include "json.hpp"
#include "memory_text.hpp"
#include "options.hpp"
#include "output.hpp"
#include "verify/block.hpp"
#include "verify/cufile.hpp"
#include "verify/nic.hpp"
#include "verify/report.hpp"
#include "verify/verify_options.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace rdmagpu::cli {
namespace {

/// What a peer did, and who it was.
struct Outcome {
  VerifyReport report;
  PeerFacts peer;
  std::optional<BlockPeer> block{}; ///< The report has its name.
  std::optional<CuFilePeer> file{}; ///< The same.
};
using Proven = std::variant<Outcome, Failure>;

/// `peer`: with its path, where it has one.
Failure notDone(const Error& error, const std::string& peer = "") {
  Failure failure = failureOf(error, verifyConfigOptions);
  if(!peer.empty())
    failure.message = fmt::format("{}: {}", peer, failure.message);
  return failure;
}

Proven proveSoftware(const RdmaGpuBuffer& buffer) {
  auto report = verify(buffer);
  if(!report)
    return notDone(report.error());
  if(report->proof.by == Agent::CopyEngine)
    report->proof.by = moverOf(buffer.facts()); // a software device has none
  return Outcome{.report = *std::move(report), .peer = softwareFacts(buffer.facts())};
}

Proven proveNic(const RdmaGpuBuffer& buffer, Nic& nic) {
  if(auto refused = nic.attach(buffer))
    return *std::move(refused);
  auto report = verify(buffer, nic.peer());
  if(!report)
    return notDone(report.error());
  report->proof.registered = Answer::Yes;
  if(auto untold = nic.finish(*report))
    return *std::move(untold);
  const PeerFacts facts = factsOf(nic.facts(), report->proof.by);
  return Outcome{.report = *std::move(report), .peer = facts};
}

Proven proveBlock(const RdmaGpuBuffer& buffer, const VerifyOptions& options) {
  auto peer = openBlockPeer(buffer, options.peer.block, options.overwrite);
  if(!peer)
    return notDone(peer.error(), options.peer.text);
  auto report = verify(buffer, *peer);
  if(!report)
    return notDone(report.error(), options.peer.text);
  const PeerFacts facts{.mover = blockMover(*peer), .hints = lostBytesHints(buffer.facts())};
  return Outcome{.report = *std::move(report), .peer = facts, .block = *std::move(peer)};
}

Proven proveFile(const RdmaGpuBuffer& buffer, const VerifyOptions& options) {
  auto peer = openCuFilePeer(buffer, options.peer.cuFile, options.overwrite);
  if(!peer)
    return notDone(peer.error(), options.peer.text);
  auto report = verify(buffer, *peer);
  if(!report)
    return notDone(report.error(), options.peer.text);
  return Outcome{.report = *std::move(report), .peer = factsOf(*peer), .file = *std::move(peer)};
}

Proven prove(const RdmaGpuBuffer& buffer, const VerifyOptions& options) {
  if(!options.peer.block.empty())
    return proveBlock(buffer, options);
  if(!options.peer.cuFile.empty())
    return proveFile(buffer, options);
  return proveSoftware(buffer);
}

int show(const VerifyOptions& options, const RdmaGpuBuffer& buffer, const Proven& proven) {
  if(const Failure* failed = std::get_if<Failure>(&proven))
    return fail("verify", options.json, *failed);
  const Outcome& outcome = *std::get_if<Outcome>(&proven);
  const auto failure = failureOf(outcome.report, outcome.peer);
  if(failure)
    printFailure("verify", *failure);
  const int exitCode = failure ? exitNo : exitDone;
  if(!options.json)
    return finishWith(toText(outcome.report, buffer.facts(), outcome.peer), "verify", exitCode);
  Json json = toJson(outcome.report, buffer.backend(), outcome.peer);
  if(outcome.block)
    addBlockPeer(json, *outcome.block, buffer.slot(0).size);
  if(outcome.file)
    addCuFilePeer(json, *outcome.file, buffer.slot(0).size);
  if(failure)
    json["error"] = toJson(*failure);
  return finishWith(jsonText(json), "verify", exitCode);
}

int serve(const VerifyOptions& options, Nic& nic) {
  const auto served = nic.serve(*options.listen);
  if(const Failure* failed = std::get_if<Failure>(&served))
    return fail("verify", options.json, *failed);
  const NicService& service = *std::get_if<NicService>(&served);
  const auto failure = failureOf(service);
  if(failure)
    printFailure("verify", *failure);
  const int exitCode = failure ? exitNo : exitDone;
  if(!options.json)
    return finishWith(toText(service), "verify", exitCode);
  Json json = toJson(service);
  if(failure)
    json["error"] = toJson(*failure);
  return finishWith(jsonText(json), "verify", exitCode);
}

/// What is wrong with options that go with others only; null when nothing is.
const char* contradiction(const VerifyOptions& options) {
  if((options.gid || options.to || options.listen) && !options.peer.nic)
    return "--gid, --to and --listen are for --peer verbs:DEVICE";
  if(options.overwrite && options.peer.block.empty() && options.peer.cuFile.empty())
    return "--overwrite: only --peer block:PATH and cufile:PATH have something to overwrite";
  if(options.to && options.listen)
    return "--to and --listen do not go together: the slots are on the host that says --to";
  return nullptr;
}

int runVerify(const VerifyOptions& options) {
  if(const char* wrong = contradiction(options))
    return fail("verify", options.json, usageFailure("verify", wrong), exitUsage);
  if(!options.peer.present)
    return fail("verify", options.json,
                absentPeer("verify", options.peer, "software, verbs:DEVICE, block:PATH and cufile:PATH"));
  std::unique_ptr<Nic> nic;
  if(options.peer.nic) {
    auto opened = Nic::open(options);
    if(const Failure* refused = std::get_if<Failure>(&opened))
      return fail("verify", options.json, *refused);
    nic = std::move(*std::get_if<std::unique_ptr<Nic>>(&opened));
  }
  if(options.listen)
    return serve(options, *nic);
  RdmaGpuBufferConfig config = options.buffer.config();
  if(nic)
    config.peer = nic->pci();
  else if(!options.peer.cuFile.empty()) // which copies where the drive does not reach the memory
    config.rdma = GpuRdma::Try;
  else // what a peer on the CPU, and the kernel for its drives, can reach
    config.accepts = {HandoffKind::HostPointer, HandoffKind::PciMapping};
  const auto buffer = RdmaGpuBuffer::make(config);
  if(!buffer)
    return fail(
        "verify", options.json,
        allocationFailure(buffer.error(), options.buffer.api, options.buffer.slots, verifyConfigOptions));
  noteUnusedGpu("verify", options.buffer.gpu, *buffer);
  if(nic)
    return show(options, *buffer, proveNic(*buffer, *nic));
  return show(options, *buffer, prove(*buffer, options));
}

void addHosts(CLI::App& app, VerifyOptions& options) {
  const auto host = [](const std::string& text) -> Expected<std::optional<HostPort>> {
    auto parsed = parseHostPort(text);
    if(!parsed)
      return parsed.error();
    return std::optional{*std::move(parsed)};
  };
  addParsed(app, "--to", options.to, host,
            "Another host, where verify --listen waits (TCP port 18516 by default): its NIC moves the bytes")
      ->type_name("HOST[:PORT]")
      ->group("NIC");
  const auto take = [&options](const std::string& text) {
    options.listen.emplace();
    if(text.empty() || text == "true")
      return;
    auto parsed = parseListen(text);
    if(!parsed)
      throw CLI::ValidationError("--listen", parsed.error().message);
    options.listen = *std::move(parsed);
  };
  app.add_option_function<std::string>(
         "--listen", take,
         "Wait for one verify --to of another host, and move the bytes of its slots: this host needs none. "
         "Whoever can reach the port is served")
      ->expected(0)
      ->type_name("[=[ADDR:]PORT]")
      ->group("NIC");
}

} // namespace

Command addVerify(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "verify", "Prove that a peer's writes arrive and its reads are right, slot by slot");
  const auto options = std::make_shared<VerifyOptions>();
  addPeer(*app, options->peer);
  addGid(*app, options->gid);
  addHosts(*app, *options);
  app->add_flag(
      "--overwrite", options->overwrite,
      "block:PATH, cufile:PATH: have both directions proven; the first bytes of the device or file, as many "
      "as a slot has, are lost. Refused where a block:PATH is in use");
  addApi(*app, options->buffer.api);
  addSlots(*app, options->buffer.slots);
  addBytes(*app, options->buffer.bytes);
  addGpu(*app, options->buffer.gpu);
  addCudaMemory(*app, options->buffer.cudaMemory);
  addJson(*app, options->json);
  app->footer("Examples:\n  rdmagpu verify\n  rdmagpu verify --api host --slots 64 --bytes 1M --json\n"
              "  rdmagpu verify --api cuda\n"
              "  rdmagpu verify --peer verbs:mlx5_0 --api cuda\n"
              "  rdmagpu verify --peer verbs:mlx5_0 --listen      (on host B)\n"
              "  rdmagpu verify --peer verbs:mlx5_0 --to B        (on host A)\n"
              "  rdmagpu verify --api pci-p2p --gpu 03:00.0 --peer block:/dev/nvme1n1\n"
              "  rdmagpu verify --api cuda --peer cufile:/data/clip.raw\n"
              "Exit status: 0 both directions are proven, or the one that a device can prove\n"
              "which is only read; 1 they are not.");
  return {app, [options] { return runVerify(*options); }};
}

} // namespace rdmagpu::cli
