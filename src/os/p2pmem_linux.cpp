#include <base/align.hpp>
#include <base/library_error.hpp>
#include <os/calls_linux.hpp>
#include <os/fd.hpp>
#include <os/files.hpp>
#include <os/p2pmem.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace rdmagpu::os {
namespace {

constexpr const char* devices = "/sys/bus/pci/devices/";

std::string folderOf(const PciAddress& address, const std::string& root) {
  return root + devices + address.text() + "/p2pmem/";
}

std::uint64_t numberIn(const std::string& path) {
  const auto text = readIfThere(path);
  return text ? numberAfter(*text, "").value_or(0) : 0;
}

} // namespace

std::vector<PciAddress> listP2pmem(const std::string& root) {
  std::vector<PciAddress> found;
  std::error_code failed;
  for(std::filesystem::directory_iterator at{root + devices, failed}, end; !failed && at != end;
      at.increment(failed)) {
    std::error_code absent;
    const auto address = PciAddress::parse(at->path().filename().native());
    if(address && std::filesystem::exists(at->path() / "p2pmem", absent))
      found.push_back(*address);
  }
  std::sort(found.begin(), found.end());
  return found;
}

P2pmem readP2pmem(const PciAddress& address, const std::string& root) {
  const std::string folder = folderOf(address, root);
  std::error_code failed;
  const auto driver = std::filesystem::read_symlink(root + devices + address.text() + "/driver", failed);
  return {.bytes = numberIn(folder + "size"),
          .freeBytes = numberIn(folder + "available"),
          .published = numberIn(folder + "published") != 0,
          .driver = driver.filename()};
}

bool allocatesP2pmem(const PciAddress& address, const std::string& root) {
  return exists(folderOf(address, root) + "allocate") != false;
}

Result<Mapping> mapP2pmem(const PciAddress& address, std::size_t bytes, const std::string& root) {
  const std::string folder = folderOf(address, root);
  const Fd fd{call::openP2pmem((folder + "allocate").c_str(), O_RDWR | O_CLOEXEC)};
  if(!fd)
    return call::openP2pmem.refusal(bytes);
  auto mapping = Mapping::make(fd.get(), bytes, gpuPageBytes, Mapping::Pages::Normal);
  if(!mapping && mapping.error().code == ENOMEM) // too little in one piece
    return libraryError(call::mmap.name(), LibraryCode::P2pmemExhausted, bytes,
                        numberIn(folder + "available"));
  return mapping;
}

} // namespace rdmagpu::os
