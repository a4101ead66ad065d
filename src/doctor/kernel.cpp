#include <doctor/machine.hpp>

#include <array>

namespace rdmagpu::doctor {

std::optional<bool> Kernel::has(std::string_view option) const {
  if(config.empty())
    return {};
  const std::string key = std::string{"\n"}.append(option).append("=");
  const std::size_t at = config.find(key);
  return at != std::string::npos && at + key.size() < config.size() &&
         (config[at + key.size()] == 'y' || config[at + key.size()] == 'm');
}

Kernel readKernel(const Root& root) {
  Kernel kernel{.release = root.line("/proc/sys/kernel/osrelease")};
  const std::string& release = kernel.release;
  kernel.major = static_cast<int>(toNumber(release).value_or(0));
  if(const std::size_t dot = release.find('.'); dot != std::string::npos)
    kernel.minor = static_cast<int>(toNumber(std::string_view{release}.substr(dot + 1)).value_or(0));
  if(release.empty() || release.find('/') != std::string::npos)
    return kernel;
  const std::array files{"/boot/config-" + release, "/usr/lib/modules/" + release + "/config",
                         "/lib/modules/" + release + "/config",
                         "/usr/src/linux-headers-" + release + "/.config",
                         "/lib/modules/" + release + "/build/.config"};
  for(const std::string& file : files) {
    const auto text = root.read(file, 1U << 20);
    if(!text || text->empty())
      continue;
    kernel.config = "\n" + *text;
    kernel.configFile = file;
    break;
  }
  return kernel;
}

} // namespace rdmagpu::doctor
