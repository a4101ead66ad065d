#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/proof.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

/// Files read into slots, and slots written to files: by NVIDIA's cuFile (GPUDirect Storage) where the slots
/// are CUDA's, and without it where it is not there or does not take them. In a library of its own,
/// rdmagpu::cufile; libcufile.so.0 is opened when it is first wanted, and nothing is linked with it.
namespace rdmagpu {

class RdmaGpuBuffer;

namespace storage {
class Registration;
class File;
} // namespace storage

/// Which way the bytes go between a file and a slot.
enum class StoragePath : std::uint8_t {
  Direct,        ///< No host memory in between: nvidia-fs, or direct I/O (O_DIRECT) on the slots' addresses.
  PeerToPeer,    ///< The same by the kernel's own peer-to-peer DMA, through cuFile.
  Undecided,     ///< cuFile chooses for each transfer, and tells nobody: direct, or through host memory.
  Compatibility, ///< cuFile copies through host memory: staged.
  HostSlot,      ///< Without cuFile: direct I/O to pinned host memory, and the GPU's copy engine: staged.
  PageCache,     ///< Host memory, which the kernel copies into from its page cache: staged.
};

/// "direct", "peer-to-peer", "undecided", "compatibility", "host-slot", "page-cache".
RDMAGPU_API const char* name(StoragePath) noexcept;
/// Whether nothing lies in between: Yes, No (staged), or Unknown where it is undecided. What a file system
/// does below direct I/O is its own affair.
RDMAGPU_API Answer isDirect(StoragePath) noexcept;

enum class CuFileUse : std::uint8_t {
  Try,     ///< reason() says why it is not used.
  Require, ///< What cuFile does not take fails. Not for host memory and PciP2p, which do without.
  Off,
};

struct CuFileOptions {
  CuFileUse use{CuFileUse::Try};
};

/// What cuFile said of itself; all zero where it is not used.
struct CuFileFacts {
  int version{}; ///< 1150: 1.15. 0: it does not tell.
  unsigned nvidiaFsMajor{};
  unsigned nvidiaFsMinor{}; ///< Of nvidia-fs; 0.0 where it is not used.
  bool compatAllowed{};     ///< It may copy through host memory and does not say so (allow_compat_mode).
  bool compatForced{};      ///< It always does (force_compat_mode). Older ones do not tell.
  Answer nvidiaFsLoaded{};  ///< /proc/driver/nvidia-fs is there.
};

/// All slots of a buffer, registered with cuFile once, for all files. Host memory, and a PCI device's own,
/// are there for direct I/O without it.
///
/// Holds the memory, and so does each CuFile of it: the last of them deregisters, and the memory goes after
/// that, whichever object goes first. A region is registered once in a process: to try it again while it is,
/// is an error (CU_FILE_MEMORY_ALREADY_REGISTERED). Calls of cuFile are made in the context that copies of
/// the slots are made in; the caller's current one is the same after every call.
///
/// Const members may be called from several threads at once. Move-only; empty after a move. In a forked child
/// it is the parent's: there it deregisters nothing. cuFile is opened once, and left open until the process
/// ends: a close would take the registrations of whoever else uses it here.
class RDMAGPU_API CuFileRegistration {
public:
  CuFileRegistration() noexcept;
  ~CuFileRegistration();
  CuFileRegistration(CuFileRegistration&&) noexcept;
  CuFileRegistration& operator=(CuFileRegistration&&) noexcept;

  /// Registers, or leaves nothing behind.
  static Result<CuFileRegistration> make(const RdmaGpuBuffer&, const CuFileOptions& = {});

  bool valid() const noexcept { return m_state != nullptr; }
  /// What a file that is opened here may hope for.
  StoragePath path() const noexcept;
  /// Why that is not direct, or not known to be; kind None where it is.
  Error reason() const noexcept;
  CuFileFacts facts() const noexcept;

  /// Waits for transfers under way, deregisters, and drops this object's share of the memory; files of it are
  /// refused from then on (CuFileDeregistered). After a failure all is as before. What it returns the
  /// destructor can only log; that one keeps the memory for as long as the process lives. Idempotent.
  Result<void> deregister() noexcept;

private:
  friend class CuFile;
  std::shared_ptr<storage::Registration> m_state;
};

/// What a transfer did.
struct FileTransfer {
  std::size_t bytes{}; ///< Fewer than were asked for where a read has come to the file's end.
  StoragePath path{};  ///< Of these bytes.
};

enum class FileAccess : std::uint8_t { Read, Write }; ///< Write: and read.

/// A regular file, or a block device, for the slots of one registration.
///
/// It is opened for direct I/O (O_DIRECT) where its file system has that, and through the page cache too.
/// Offsets and lengths need no alignment: cuFile takes any, and so do reads through a host slot. On host
/// memory what is not aligned to 4096 bytes goes through the page cache, and the FileTransfer says so.
///
/// Any thread may read and write; transfers through a host slot take turns. Nothing is written back to the
/// drive at the end: fsync() is the caller's. Move-only; empty after a move. It must not be destroyed during
/// a transfer.
class RDMAGPU_API CuFile {
public:
  CuFile() noexcept;
  ~CuFile();
  CuFile(CuFile&&) noexcept;
  CuFile& operator=(CuFile&&) noexcept;

  /// Opens a file that is there. A file that cuFile refuses, such as one on overlayfs, is reached without it,
  /// unless cuFile is required.
  static Result<CuFile> open(const CuFileRegistration&, const std::string& path,
                             FileAccess = FileAccess::Read);
  /// The file behind a descriptor. The descriptor stays the caller's, and may be closed at once. One with
  /// O_APPEND is refused.
  static Result<CuFile> of(const CuFileRegistration&, int fd);

  bool valid() const noexcept { return m_file != nullptr; }
  /// How aligned transfers go.
  StoragePath path() const noexcept;
  Error reason() const noexcept; ///< As CuFileRegistration::reason(), of this file.
  Result<std::uint64_t> size() const;

  /// Moves bytes from the file into the slot, and returns when they are there. What has been moved before an
  /// error is Error::available.
  Result<FileTransfer> read(std::size_t slot, std::size_t bytes, std::uint64_t fileOffset,
                            std::size_t slotOffset = 0) const;
  /// Moves all bytes from the slot into the file, which grows where it has to, or fails.
  Result<FileTransfer> write(std::size_t slot, std::size_t bytes, std::uint64_t fileOffset,
                             std::size_t slotOffset = 0) const;

private:
  std::unique_ptr<storage::File> m_file;
};

} // namespace rdmagpu
