#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace rdmagpu::cli::test {

/// An empty directory of its own, removed with what is in it.
class TempDir {
public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rdmagpu-test-XXXXXX").string();
    if(const char* made = ::mkdtemp(pattern.data()))
      m_path = made;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string path(std::string_view name = {}) const { return (m_path / name).string(); }

  /// Writes a file and answers its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  std::string read(std::string_view name) const {
    std::ostringstream content;
    content << std::ifstream(path(name), std::ios::binary).rdbuf();
    return content.str();
  }

private:
  std::filesystem::path m_path;
};

} // namespace rdmagpu::cli::test
