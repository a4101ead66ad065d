#include <rdmagpu/pci_address.hpp>

#include <array>
#include <charconv>
#include <cstdio>

namespace rdmagpu {
namespace {

/// Takes hexadecimal digits up to `end` (or all, when `end` is 0) from the front of `text`.
std::optional<unsigned> takeHex(std::string_view& text, char end, std::size_t digits) noexcept {
  const std::size_t length = end ? text.find(end) : text.size();
  if(length == std::string_view::npos || length == 0 || length > digits)
    return {};
  unsigned value{};
  const char* last = text.data() + length;
  const auto [stop, status] = std::from_chars(text.data(), last, value, 16);
  if(status != std::errc{} || stop != last)
    return {};
  text.remove_prefix(length + (end ? 1 : 0));
  return value;
}

} // namespace

std::optional<PciAddress> PciAddress::parse(std::string_view text) noexcept {
  PciAddress address;
  if(text.find(':') != text.rfind(':')) {
    const auto domain = takeHex(text, ':', 8);
    if(!domain)
      return {};
    address.domain = *domain;
  }
  const auto bus = takeHex(text, ':', 2);
  const auto device = bus ? takeHex(text, '.', 2) : std::nullopt;
  const auto function = device ? takeHex(text, '\0', 1) : std::nullopt;
  if(!function || *device > 31 || *function > 7)
    return {};
  address.bus = static_cast<std::uint8_t>(*bus);
  address.device = static_cast<std::uint8_t>(*device);
  address.function = static_cast<std::uint8_t>(*function);
  return address;
}

std::string PciAddress::text() const {
  std::array<char, 24> line{};
  std::snprintf(line.data(), line.size(), "%04x:%02x:%02x.%x", domain, bus, device, function);
  return line.data();
}

} // namespace rdmagpu
