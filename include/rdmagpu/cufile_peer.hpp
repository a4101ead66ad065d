#pragma once
#include <rdmagpu/cufile.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/storage_peer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rdmagpu {

class RdmaGpuBuffer;

struct CuFilePeerOptions {
  CuFileOptions cuFile{};
  bool overwrite{false}; ///< Lets bytes be written to the file, whose own are lost: see overwritten().
};

/// A file as the peer of verify(): the slots are read from it, and written to it, as a CuFile does. The bytes
/// at the other end are moved by plain I/O of the kernel. It proves the transfers, and no device: which way
/// they went, path() tells as far as it is known. Move-only; one transfer at a time.
class RDMAGPU_API CuFilePeer final : public StoragePeer {
public:
  static Result<CuFilePeer> open(const RdmaGpuBuffer&, const std::string& path,
                                 const CuFilePeerOptions& = {});
  ~CuFilePeer() override;
  CuFilePeer(CuFilePeer&&) noexcept;
  CuFilePeer& operator=(CuFilePeer&&) noexcept;

  const char* name() const noexcept override; ///< "cufile:/data/clip.raw"
  /// Software; CopyEngine for what was staged through a host slot.
  Agent agent() const noexcept override;
  StoragePath path() const noexcept; ///< Of the last transfer; before one, of the file.
  Error reason() const noexcept;     ///< Why it is not known to be direct.
  CuFileFacts facts() const noexcept;
  std::uint64_t size() const noexcept; ///< Of the file, when it was opened.

  std::uint64_t overwritten(std::size_t bytes) const noexcept override;
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override;
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override;
  Result<void> fetch(std::uint32_t slot, std::span<std::byte> bytes) override;
  Result<void> fill(std::uint32_t slot, std::size_t bytes) override;

private:
  struct Impl;
  explicit CuFilePeer(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
