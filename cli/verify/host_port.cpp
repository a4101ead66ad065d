#include "verify/host_port.hpp"

#include "frames/decimal.hpp"
#include "output.hpp"

#include <fmt/core.h>

#include <limits>
#include <optional>
#include <string_view>

namespace rdmagpu::cli {
namespace {

std::optional<std::uint16_t> portOf(std::string_view text) {
  const auto number = parseDecimal(text);
  if(!number || *number == 0 || *number > std::numeric_limits<std::uint16_t>::max())
    return {};
  return static_cast<std::uint16_t>(*number);
}

} // namespace

Expected<HostPort> parseHostPort(const std::string& text) {
  const InputError wrong{
      InputErrorKind::BadValue,
      fmt::format("{} is no host: it is HOST, HOST:PORT, or [ADDRESS]:PORT for IPv6", quote(text))};
  std::string_view host = text;
  std::string_view rest;
  if(host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if(end == std::string_view::npos)
      return wrong;
    rest = host.substr(end + 1);
    host = host.substr(1, end - 1);
    if(!rest.empty() && rest.front() != ':')
      return wrong;
  } else if(const std::size_t colon = host.find(':'); colon == host.rfind(':') && colon != host.npos) {
    rest = host.substr(colon);
    host = host.substr(0, colon);
  }
  const auto port = rest.empty() ? std::optional<std::uint16_t>(0) : portOf(rest.substr(1));
  if(host.empty() || !port)
    return wrong;
  return HostPort{.host = std::string(host), .port = *port};
}

Expected<HostPort> parseListen(const std::string& text) {
  if(const auto port = portOf(text))
    return HostPort{.port = *port};
  return parseHostPort(text);
}

} // namespace rdmagpu::cli
