#include "help.hpp"

#include <cstddef>
#include <sstream>
#include <string>
#include <utility>

namespace rdmagpu::cli {
namespace {

constexpr std::size_t lineWidth = 80;
constexpr std::size_t nameWidth = 26;

std::string wrap(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string lines;
  std::size_t used = 0;
  for(std::string word; words >> word; used += word.size()) {
    if(used != 0 && used + 1 + word.size() > width) {
      lines += '\n';
      used = 0;
    } else if(used != 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
  }
  return lines;
}

class Format final : public CLI::Formatter {
public:
  Format() {
    column_width(nameWidth);
    label("REQUIRED", "(required)");
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
  }

  // A value that follows its flag without a space is shown so.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    return option->get_type_name().starts_with("[") ? option->get_type_name() : text;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return wrap(option->get_description(), lineWidth - nameWidth);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, command->get_name(),
                             wrap(command->get_description(), lineWidth - nameWidth), nameWidth);
    return text.str();
  }

  // Groups are set apart by one blank line, where CLI11 leaves two.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for(std::size_t at; (at = text.find("\n\n\n")) != std::string::npos;)
      text.erase(at, 1);
    return text;
  }
};

} // namespace

std::shared_ptr<CLI::FormatterBase> helpFormat() { return std::make_shared<Format>(); }

} // namespace rdmagpu::cli
