#pragma once
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <stdlib.h>
#include <string>

namespace rdmagpu::test {

/// A folder of its own that stands for "/", removed with all in it on destruction.
class TempTree {
public:
  TempTree() {
    std::string path = std::filesystem::temp_directory_path() / "rdmagpu-test-XXXXXX";
    if(!mkdtemp(path.data()))
      throw std::runtime_error{"mkdtemp"};
    m_root = path;
  }
  ~TempTree() { std::filesystem::remove_all(m_root); }
  TempTree(TempTree&&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = m_root + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
  }
  void link(const std::string& path, const std::string& target) const {
    const std::filesystem::path file = m_root + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }
  const std::string& root() const noexcept { return m_root; }

private:
  std::string m_root;
};

} // namespace rdmagpu::test
