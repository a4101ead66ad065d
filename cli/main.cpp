#include "command.hpp"
#include "failure.hpp"
#include "help.hpp"
#include "interrupt.hpp"
#include "output.hpp"

#include <rdmagpu/version.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace rdmagpu::cli {
namespace {

std::string chosenCommand(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  return chosen.empty() ? "" : chosen.front()->get_name();
}

/// A wrong command line may be wrong before its --json is reached.
bool wantsJson(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

std::string commandIsMissing(const CLI::App& program) {
  const auto words = program.remaining();
  if(words.empty())
    return "a command is required";
  return fmt::format("{} is no command: it is list, doctor, alloc, stream or verify", quote(words.front()));
}

/// CLI11 counts values; a person wants to know which mistake it was. The error begins with the option.
std::string wrongCount(const CLI::App& program, const std::string& error) {
  const std::string name = error.substr(0, error.find(':'));
  const auto chosen = program.get_subcommands();
  const CLI::Option* option = chosen.empty() ? nullptr : chosen.front()->get_option_no_throw(name);
  if(!option)
    return error;
  return name + (option->results().size() > 1 ? " is given twice: it may be given once" : " needs a value");
}

int refuse(const CLI::App& program, const CLI::ParseError& error, bool json) {
  const std::string command = chosenCommand(program);
  std::string message = error.what();
  if(dynamic_cast<const CLI::ArgumentMismatch*>(&error))
    message = wrongCount(program, message);
  if(command.empty() && dynamic_cast<const CLI::RequiredError*>(&error))
    message = commandIsMissing(program);
  std::replace(message.begin(), message.end(), '\n', ' ');
  return fail(command, json, usageFailure(command, std::move(message)), exitUsage);
}

int run(int argc, char** argv) {
  CLI::App program("Memory that another device can read and write by DMA.", "rdmagpu");
  program.formatter(helpFormat());
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.set_version_flag("--version", fmt::format("rdmagpu {}", version()), "Print the version and exit");
  program.require_subcommand(1);
  program.footer("'rdmagpu COMMAND --help' says more about each command. Data goes to stdout,\n"
                 "progress and errors to stderr. Exit status: 0 done, 1 the answer is no,\n"
                 "2 wrong command line, 128 and the signal's number after one (Ctrl-C: 130).");
  const std::array commands{addList(program), addDoctor(program), addAlloc(program), addStream(program),
                            addVerify(program)};
  for(const Command& command : commands)
    command.app->group("Commands");
  try {
    program.parse(argc, argv);
  } catch(const CLI::CallForHelp&) {
    return finishWith(program.help(), "", exitDone);
  } catch(const CLI::CallForVersion&) {
    return finishWith(fmt::format("rdmagpu {}\n", version()), "", exitDone);
  } catch(const CLI::ParseError& error) {
    return refuse(program, error, wantsJson(argc, argv));
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(),
                                   [](const Command& command) { return command.app->parsed(); });
  try {
    return chosen->run();
  } catch(const std::bad_alloc&) {
    return fail(chosen->app->get_name(), wantsJson(argc, argv),
                {.kind = "OutOfMemory", .message = "the process has no memory left"});
  }
}

} // namespace
} // namespace rdmagpu::cli

int main(int argc, char** argv) {
  rdmagpu::cli::ignoreOutputSignals();
  if(!rdmagpu::cli::reserveStandardDescriptors())
    return rdmagpu::cli::exitNo;
  try {
    return rdmagpu::cli::run(argc, argv);
  } catch(const std::exception& error) {
    std::fprintf(stderr, "rdmagpu: %s\n", error.what());
    return rdmagpu::cli::exitNo;
  }
}
