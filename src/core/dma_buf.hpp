#pragma once
#include <backend/backend.hpp>
#include <rdmagpu/dma_buf.hpp>
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <memory>

namespace rdmagpu::core {

/// Makes what only the library may make.
struct DmaBufAccess {
  static DmaBuf make(std::shared_ptr<const void> memory, backend::ExportedFd, std::size_t size) noexcept;
};

/// A dma-buf of that range of a region. An error where it does not cover the range, or reaches more; `call`
/// is the public function to name in it.
Result<backend::ExportedFd> exportRange(const char* call, const backend::Region&, std::size_t offset,
                                        std::size_t bytes);

} // namespace rdmagpu::core
