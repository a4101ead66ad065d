#include "command.hpp"
#include "doctor/report.hpp"
#include "failure.hpp"
#include "options.hpp"
#include "output.hpp"

#include <rdmagpu/doctor.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <unistd.h>

namespace rdmagpu::cli {
namespace {

constexpr const char* command = "doctor";

struct Options {
  DoctorOptions doctor;
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

int runDoctor(const Options& options) {
  if(!options.explain.empty())
    return runExplain(options);
  const auto report = diagnose(options.doctor);
  if(!report)
    return fail(command, options.json, failureOf(report.error()));
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
  app->add_option("--gpu", options->doctor.gpu, "Only this GPU, by its PCI address")->type_name("PCI");
  app->add_option("--peer", options->doctor.peer, "Only this peer, by its PCI address or as an RDMA device")
      ->type_name("DEVICE");
  app->add_option("--explain", options->explain,
                  "Explain an error instead: a call and its code, or a line of the kernel's log")
      ->type_name("TEXT");
  addJson(*app, options->json);
  app->footer("It reads /proc and /sys, tries nothing and changes nothing. Exit status: 0 GPU memory\n"
              "can be reached directly, or that must be tried; 1 it cannot; 2 wrong command line.\n"
              "Examples:\n  rdmagpu doctor\n  rdmagpu doctor --peer mlx5_0 --json\n"
              "  rdmagpu doctor --explain 'ibv_reg_mr 14'");
  return {app, [options] { return runDoctor(*options); }};
}

} // namespace rdmagpu::cli
