#include <doctor/machine.hpp>

#include <array>
#include <cctype>

namespace rdmagpu::doctor {
namespace {

bool isVersion(std::string_view word) noexcept {
  return word.size() > 3 && std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
         word.find('.') != std::string_view::npos;
}

std::string userVersion(const Root& root) {
  constexpr std::string_view stem = "libcuda.so.";
  std::string version;
  for(const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"}) {
    for(const std::string& name : root.names(folder, stem)) {
      if(!isVersion(std::string_view{name}.substr(stem.size())))
        continue;
      if(!version.empty() && version != name.substr(stem.size()))
        return {};
      version = name.substr(stem.size());
    }
  }
  return version;
}

} // namespace

NvidiaDriver readNvidiaDriver(const Root& root) {
  const std::string line = root.line("/proc/driver/nvidia/version");
  NvidiaDriver driver{.version = {}, .open = line.find("Open Kernel Module") != std::string::npos};
  for(const std::string_view word : words(line)) {
    if(isVersion(word)) {
      driver.version = word;
      break;
    }
  }
  if(!driver.version.empty())
    driver.userVersion = userVersion(root);
  return driver;
}

} // namespace rdmagpu::doctor
