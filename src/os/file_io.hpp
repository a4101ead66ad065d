#pragma once
#include <os/fd.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rdmagpu::os {

/// What every offset, size and address of direct I/O is a multiple of. No file system asks for more where its
/// device does not.
inline constexpr std::size_t directBlock = 4096;

/// A regular file, or a block device, that is open twice: past the page cache (O_DIRECT), where it can be,
/// and through it. Any thread may read and write.
class RDMAGPU_API FileIo {
public:
  enum class Access : unsigned char { Read, Write }; ///< Write: and read.

  /// What is no file and no device is NotBlock; neither is created, and neither is waited for.
  static Result<FileIo> open(const char* call, const std::string& path, Access);
  /// The file behind a descriptor, which stays the caller's. One that appends is FileAppends.
  static Result<FileIo> of(const char* call, int fd);

  bool writable() const noexcept { return m_writable; }
  bool hasDirect() const noexcept { return static_cast<bool>(m_direct); }
  bool hasCached() const noexcept { return static_cast<bool>(m_cached); }
  /// Why there is no direct one; kind None where there is.
  const Error& directError() const noexcept { return m_directError; }
  int direct() const noexcept { return m_direct.get(); }
  /// The direct one if there is one, else the other.
  int best() const noexcept { return m_direct ? m_direct.get() : m_cached.get(); }

  enum class Way : unsigned char { Direct, Cached };
  /// Moves up to `bytes`, by as many calls as it takes; returns how many. Fewer: the file has ended. An error
  /// says how many were moved before it (Error::available).
  Result<std::size_t> read(Way, std::uint64_t offset, void* to, std::size_t bytes) const;
  /// Moves all, or fails.
  Result<std::size_t> write(Way, std::uint64_t offset, const void* from, std::size_t bytes) const;
  /// How long the file, or the device, is now.
  Result<std::uint64_t> size() const;

private:
  Result<void> examine(const char* call, int fd);

  Fd m_direct;
  Fd m_cached;
  Error m_directError{};
  bool m_writable{};
  bool m_isDevice{};
};

} // namespace rdmagpu::os
