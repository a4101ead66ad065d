#pragma once
#include <CLI/CLI.hpp>

#include <functional>

namespace rdmagpu::cli {

/// One of the program's commands: how it reads its part of the command line, and what it then does.
struct Command {
  CLI::App* app{}; ///< Belongs to the program's.
  std::function<int()> run;
};

Command addList(CLI::App& program);
Command addDoctor(CLI::App& program);
Command addAlloc(CLI::App& program);
Command addStream(CLI::App& program);
Command addVerify(CLI::App& program);

} // namespace rdmagpu::cli
