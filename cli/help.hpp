#pragma once
#include <CLI/CLI.hpp>

#include <memory>

namespace rdmagpu::cli {

/// How help texts look: descriptions wrapped beside their option, so that 80 columns are enough.
std::shared_ptr<CLI::FormatterBase> helpFormat();

} // namespace rdmagpu::cli
