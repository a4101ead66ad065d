#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace rdmagpu::doctor {

/// Replaces what tells one machine from others: UUIDs, MAC addresses, GUIDs, also within a device's name
/// ("rocex506b4b030001"), serial numbers and the host's name. The same one is replaced by the same each time.
class Anonymiser {
public:
  /// `host` with or without its domain; names of less than three letters stay.
  explicit Anonymiser(const std::string& host);

  std::string text(std::string_view text);

private:
  std::string line(std::string_view line);
  std::string substitute(std::string_view found, std::string (*make)(std::size_t));

  std::string m_host;
  std::string m_shortHost;
  std::map<std::string, std::string, std::less<>> m_known;
};

} // namespace rdmagpu::doctor
