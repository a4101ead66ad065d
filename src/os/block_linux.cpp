#include <base/library_error.hpp>
#include <os/block.hpp>
#include <os/calls_linux.hpp>
#include <os/pci.hpp>

#include <filesystem>
#include <linux/fs.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <utility>

namespace rdmagpu::os {
namespace {

constexpr std::size_t fileBlockBytes = 4096; // no file system asks for more where its device does not

/// Moves `bytes` by as many calls as it takes.
template <class Call, class Byte>
Result<void> moveAll(const Call& call, int fd, Byte* memory, std::size_t bytes, std::uint64_t offset) {
  for(std::size_t done = 0; done < bytes;) {
    const ssize_t moved = call(fd, memory + done, bytes - done, static_cast<off_t>(offset + done));
    if(moved < 0 && errno == EINTR)
      continue;
    if(moved < 0)
      return call.refusal(bytes);
    if(moved == 0)
      return libraryError(call.name(), LibraryCode::BlockEnded, bytes, done);
    done += static_cast<std::size_t>(moved);
  }
  return {};
}

} // namespace

std::optional<PciAddress> pciOfBlock(unsigned major, unsigned minor, const std::string& root) {
  std::error_code failed;
  const auto device = std::filesystem::canonical(
      root + "/sys/dev/block/" + std::to_string(major) + ":" + std::to_string(minor), failed);
  if(failed)
    return {};
  if(const auto address = pciBehind(device))
    return address;
  // An NVMe drive with several controllers is a device of its subsystem, which has a link to each of them.
  for(auto up = device.parent_path(); up.has_relative_path(); up = up.parent_path()) {
    if(!up.parent_path().native().ends_with("/nvme-subsystem"))
      continue;
    for(std::filesystem::directory_iterator at{up, failed}, end; !failed && at != end; at.increment(failed)) {
      if(at->is_symlink(failed) && at->path().filename().native().starts_with("nvme"))
        return pciBehind(at->path());
    }
  }
  return {};
}

Result<void> BlockFile::measure() {
  if(!m_isDevice) {
    struct stat status {};
    if(call::fstat(m_fd.get(), &status) != 0)
      return call::fstat.refusal();
    m_bytes = static_cast<std::uint64_t>(status.st_size);
    m_blockBytes = fileBlockBytes;
    return {};
  }
  int block = 0;
  if(call::blockSize(m_fd.get(), BLKSSZGET, &block) != 0)
    return call::blockSize.refusal();
  if(call::blockDeviceBytes(m_fd.get(), BLKGETSIZE64, &m_bytes) != 0)
    return call::blockDeviceBytes.refusal();
  m_blockBytes = static_cast<std::size_t>(block);
  return {};
}

Result<BlockFile> BlockFile::open(const std::string& path, Access access, const std::string& root) {
  // Looked at before it is opened: opening a FIFO waits, and a terminal or a tape may be changed by it.
  struct stat status {};
  const Fd there{call::open(path.c_str(), O_PATH | O_CLOEXEC)};
  if(!there)
    return call::open.refusal();
  if(call::fstat(there.get(), &status) != 0)
    return call::fstat.refusal();
  BlockFile file;
  file.m_isDevice = S_ISBLK(status.st_mode);
  if(!file.m_isDevice && !S_ISREG(status.st_mode))
    return libraryError("BlockPeer::open", LibraryCode::NotBlock);
  const int exclusive = file.m_isDevice ? O_EXCL : 0;
  const int flags = access == Access::Overwrite ? O_RDWR | exclusive : O_RDONLY;
  Fd fd{call::openDirect(path.c_str(), flags | O_DIRECT | O_CLOEXEC)};
  if(!fd)
    return call::openDirect.refusal();
  auto kept = aboveStandard(std::move(fd));
  if(!kept)
    return kept.error();
  file.m_fd = *std::move(kept);
  if(const auto measured = file.measure(); !measured)
    return measured.error();
  if(file.m_isDevice)
    file.m_pci = pciOfBlock(major(status.st_rdev), minor(status.st_rdev), root);
  return file;
}

Result<void> BlockFile::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  return moveAll(call::readDirect, m_fd.get(), static_cast<std::byte*>(to), bytes, offset);
}

Result<void> BlockFile::write(std::uint64_t offset, const void* from, std::size_t bytes) const {
  return moveAll(call::writeDirect, m_fd.get(), static_cast<const std::byte*>(from), bytes, offset);
}

bool isAnswerToMemory(const Error& error) noexcept {
  return error.origin == Origin::Os && (error.code == EFAULT || error.code == EINVAL ||
                                        error.code == EREMOTEIO || error.code == EOPNOTSUPP);
}

} // namespace rdmagpu::os
