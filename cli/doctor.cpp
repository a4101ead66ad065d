#include "command.hpp"
#include "doctor/peer_trial.hpp"
#include "doctor/report.hpp"
#include "failure.hpp"
#include "options.hpp"
#include "output.hpp"

#include <rdmagpu/doctor.hpp>

#include <fmt/core.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

namespace rdmagpu::cli {
namespace {

constexpr const char* command = "doctor";

struct Options {
  DoctorOptions doctor;
  std::optional<PciAddress> gpu;
  std::string explain;
  bool json{};
};

bool wantsColour() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables here
  return ::isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR");
}

int runExplain(const Options& options) {
  const auto explanations = explain(options.explain);
  if(!explanations)
    return fail(command, options.json, failureOf(explanations.error()));
  if(explanations->empty())
    return fail(command, options.json,
                {.kind = "NotFound",
                 .message = "nothing in the text is known: give the call and its code, or a line of dmesg"});
  return finishWith(options.json ? explanationJson(*explanations) : explanationText(*explanations), command,
                    exitDone);
}

/// With what was named.
Failure absence(const Error& error, const DoctorOptions& asked) {
  Failure failure = failureOf(error);
  const std::string_view rule = error.codeName;
  if(rule == "NoSuchGpu")
    failure.message = fmt::format("--gpu: {}: {}", asked.gpu, failure.message);
  if(rule == "NoSuchPeer")
    failure.message = fmt::format("--peer: {}: {}", asked.peer, failure.message);
  return failure;
}

int runDoctor(const Options& options) {
  if(!options.explain.empty())
    return runExplain(options);
  DoctorOptions asked = options.doctor;
  if(options.gpu)
    asked.gpu = options.gpu->text();
  const auto peers = peerTrial();
  asked.peers = peers.get();
  const auto report = diagnose(asked);
  if(!report)
    return fail(command, options.json, absence(report.error(), asked));
  return finishWith(options.json ? doctorJson(*report) : doctorText(*report, wantsColour()), command,
                    report->verdict <= Verdict::Unknown ? exitDone : exitNo);
}

} // namespace

Command addDoctor(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "doctor", "Say which devices can reach a GPU's memory here, and what to do where not");
  const auto options = std::make_shared<Options>();
  app->add_option("--root", options->doctor.root, "Examine the machine whose files are in this folder")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  addParsed(
      *app, "--gpu", options->gpu,
      [](const std::string& text) -> Expected<std::optional<PciAddress>> {
        const auto pci = parsePci(text);
        if(!pci)
          return pci.error();
        return std::optional{*pci};
      },
      "Only this GPU, by its PCI address")
      ->type_name("PCI");
  app->add_option("--peer", options->doctor.peer, "Only this peer, by its PCI address or as an RDMA device")
      ->type_name("DEVICE");
  app->add_flag("--try", options->doctor.tryMemory,
                "Also try what takes memory of a GPU, and a context of its driver, on this machine");
  app->add_option("--explain", options->explain,
                  "Explain an error instead: a call and its code, or a line of the kernel's log")
      ->type_name("TEXT");
  addJson(*app, options->json);
  app->footer("It reads /proc and /sys, and changes nothing. Exit status: 0 GPU memory can be\n"
              "reached directly, or that must be tried; 1 it cannot; 2 wrong command line.\n"
              "Tried of each GPU, in this order:\n"
              "  always      driver-library, device, attributes\n"
              "  with --try  allocation, reach, export, and with each RDMA device registration\n"
              "              (dma-buf, peer memory), write, read\n"
              "Examples:\n  rdmagpu doctor\n  rdmagpu doctor --peer mlx5_0 --json\n"
              "  rdmagpu doctor --try\n  rdmagpu doctor --explain 'ibv_reg_mr 14'");
  return {app, [options] { return runDoctor(*options); }};
}

} // namespace rdmagpu::cli
