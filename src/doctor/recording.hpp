#pragma once
#include <doctor/anonymiser.hpp>
#include <rdmagpu/error.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace rdmagpu::doctor {

/// What was read of a machine: written into a folder it is that machine, as far as the doctor looks.
class Recording {
public:
  void addFile(const std::string& path, std::string_view text);
  void addLink(const std::string& path, const std::string& target);
  void addPresence(const std::string& path); ///< Of what it is nothing is known.

  /// The folder is made. Nothing is written outside of it, wherever links lead.
  Result<void> write(const std::string& folder, Anonymiser) const;

private:
  std::map<std::string, std::string> m_files;
  std::map<std::string, std::string> m_links;
  std::set<std::string> m_present;
};

} // namespace rdmagpu::doctor
