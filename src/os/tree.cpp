#include <os/tree.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace rdmagpu::os {

std::vector<std::string> namesIn(const std::string& path, std::size_t most) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(path, failed);
  for(; !failed && entry != std::filesystem::directory_iterator{} && names.size() < most;
      entry.increment(failed))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string linkTarget(const std::string& path) {
  std::error_code failed;
  return std::filesystem::read_symlink(path, failed).string();
}

} // namespace rdmagpu::os
