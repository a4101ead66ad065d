#pragma once
#include <backend/vulkan_device.hpp>

#include <array>
#include <cstddef>

namespace rdmagpu::backend::vulkan {

/// Opens a device into which memory of the GPU that has this UUID can be imported by descriptors: the
/// caller's, or one of the library's own.
Result<LogicalDevicePtr> openMatchingDevice(const RdmaGpuBufferConfig&,
                                            const std::array<std::byte, 16>& uuid);

} // namespace rdmagpu::backend::vulkan
