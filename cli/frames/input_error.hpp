#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace rdmagpu::cli {

/// What is wrong with what the user gave. Decides nothing by itself: every kind ends in exit code 1 but
/// BadValue, which is a wrong command line, and Interrupted, which is the user's own wish.
enum class InputErrorKind : std::uint8_t {
  BadValue,      ///< An option's value breaks a rule, or options do not go together, whatever the file holds.
  Contradiction, ///< An option and the file say different things.
  BadFormat,     ///< The file's content breaks its format's rules.
  Truncated,     ///< The input ends in the middle of a frame or header.
  Empty,         ///< The input holds no frame at all.
  Unsupported,   ///< This kind of file cannot do it, such as starting a pipe again.
  Io,            ///< The operating system refused.
  Interrupted,   ///< The stop flag was seen.
};

/// A failure of the program's input or output as the user reads it: `message` names the value and the rule.
struct InputError {
  InputErrorKind kind{};
  std::string message;
};

/// "clip.y4m: cannot be opened: No such file or directory". `code` is an errno value.
InputError osError(std::string_view name, std::string_view what, int code);

InputError interrupted(std::string_view name);

/// Text from a file or command line as a message may show it: in quotes, in printable ASCII, cut when long.
std::string quote(std::string_view text);

} // namespace rdmagpu::cli
