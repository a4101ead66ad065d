#pragma once
#include <backend/backend.hpp>
#include <rdmagpu/dma_buf.hpp>

#include <memory>

namespace rdmagpu::core {

/// Makes what only the library may make.
struct DmaBufAccess {
  static DmaBuf make(std::shared_ptr<const void> memory, backend::ExportedFd, std::size_t size) noexcept;
};

} // namespace rdmagpu::core
