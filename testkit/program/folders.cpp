#include <program/folders.hpp>

#include <filesystem>

namespace rdmagpu::testkit {

std::string libraryPath(const std::string& driver) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  if(driver.rfind("cuda", 0) != 0 || driver.find('/') != std::string::npos)
    return {};
  // In a build the stand-ins lie beside the program.
  for(const fs::path& folder : {here, (here / RDMAGPU_TESTKIT_FOLDER).lexically_normal()}) {
    if(fs::exists(folder / driver / "libcuda.so.1", error))
      return (folder / driver).string() + ":" + (folder / "nvml").string() + ":" +
             (folder / "cufile").string();
  }
  return {};
}

} // namespace rdmagpu::testkit
