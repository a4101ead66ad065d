#pragma once
#include <os/file_io.hpp>
#include <rdmagpu/cufile.hpp>
#include <storage/registration.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rdmagpu::storage {

/// What a CuFile is.
class File {
public:
  /// Makes the file known to cuFile, where that is used and takes it.
  static Result<std::unique_ptr<File>> make(std::shared_ptr<const Registration>, os::FileIo);

  explicit File(std::shared_ptr<const Registration> registration, os::FileIo io) noexcept;
  File(File&&) = delete;
  ~File();

  StoragePath path() const noexcept { return m_path; }
  const Error& reason() const noexcept { return m_reason; }
  const os::FileIo& io() const noexcept { return m_io; }

  enum class Direction : unsigned char { Read, Write };
  struct Transfer {
    const char* call = "";
    Direction direction{};
    std::size_t slot{};
    std::size_t slotOffset{};
    std::size_t bytes{};
    std::uint64_t fileOffset{};
  };
  Result<FileTransfer> move(const Transfer&) const;

private:
  Result<void> registerHandle();
  Result<void> check(const Transfer&) const noexcept;
  Result<FileTransfer> moveOnCpu(const Transfer&, const SlotPlace&) const;
  Result<FileTransfer> moveStaged(const Transfer&, const SlotPlace&) const;
  Result<FileTransfer> moveByCuFile(const Transfer&, const SlotPlace&) const;

  std::shared_ptr<const Registration> m_registration; ///< Goes last.
  os::FileIo m_io;
  api::Handle m_handle{};
  Staging* m_staging{}; ///< The registration's.
  StoragePath m_path{};
  Error m_reason{};
};

} // namespace rdmagpu::storage
