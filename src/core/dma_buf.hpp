#pragma once
#include <os/fd.hpp>
#include <rdmagpu/dma_buf.hpp>

#include <memory>

namespace rdmagpu::core {

/// Makes what only the library may make.
struct DmaBufAccess {
  static DmaBuf make(std::shared_ptr<const void> memory, os::Fd fd, void (*close)(int) noexcept,
                     std::uint64_t offset, std::size_t size) noexcept;
};

} // namespace rdmagpu::core
