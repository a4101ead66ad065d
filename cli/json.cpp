#include "json.hpp"

#include <fmt/core.h>

namespace rdmagpu::cli {

std::string jsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string addressText(std::uint64_t address) { return fmt::format("{:#x}", address); }

} // namespace rdmagpu::cli
