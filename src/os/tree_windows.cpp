#include <os/calls_windows.hpp>
#include <os/tree.hpp>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace rdmagpu::os {

Result<std::string> readSome(const std::string& path, std::size_t most) {
  std::error_code failed;
  if(!std::filesystem::is_regular_file(path, failed))
    return error(call::createFile.name(), failed ? ERROR_FILE_NOT_FOUND : ERROR_INVALID_PARAMETER);
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

} // namespace rdmagpu::os
