#pragma once
#include <os/fd.hpp>
#include <rdmagpu/error.hpp>

#include <cstdint>

namespace rdmagpu::os {

/// Makes a dma-buf of a range of a memfd through /dev/udmabuf. Offset and size must be multiples of
/// the page size. Source: the kernel's drivers/dma-buf/udmabuf.c.
Result<Fd> exportMemfd(int memfd, std::uint64_t offset, std::uint64_t bytes);

/// Whether there is a /dev/udmabuf that this process may use.
Result<void> checkUdmabuf();

/// Where the file behind `fd` ends.
Result<std::uint64_t> fileBytes(int fd);

} // namespace rdmagpu::os
