#pragma once
#include "frames/expected.hpp"

#include <string_view>

namespace rdmagpu::cli {

/// Makes sure that no file which is opened later gets a standard descriptor that the program was started
/// without: what it prints would end up there. Using such a descriptor fails, as it should. False when
/// that cannot be had.
bool reserveStandardDescriptors() noexcept;

/// Everything to standard output, or an error: a reader that has gone away and a full disk among them.
Expected<void> writeOutput(std::string_view text);

/// The end of a command that has shown what it had to show: `exitCode`, or 1 and a message when standard
/// output did not take it.
int finishWith(std::string_view text, const char* command, int exitCode);

/// A line of the program's own on stderr, that is no failure.
void printNote(std::string_view text);

} // namespace rdmagpu::cli
