#include <base/known_code.hpp>
#include <driver/vulkan.hpp>

#include <array>

namespace rdmagpu::driver::vulkan {
namespace {

#define RDMAGPU_VULKAN_CODE(name, kind)                                                                      \
  KnownCode { name, #name, Errc::kind }
constexpr std::array codes{
    RDMAGPU_VULKAN_CODE(VK_NOT_READY, Busy),
    RDMAGPU_VULKAN_CODE(VK_TIMEOUT, Busy),
    RDMAGPU_VULKAN_CODE(VK_INCOMPLETE, Busy),
    RDMAGPU_VULKAN_CODE(VK_ERROR_OUT_OF_HOST_MEMORY, OutOfMemory),
    RDMAGPU_VULKAN_CODE(VK_ERROR_OUT_OF_DEVICE_MEMORY, OutOfMemory),
    RDMAGPU_VULKAN_CODE(VK_ERROR_INITIALIZATION_FAILED, NotFound),
    RDMAGPU_VULKAN_CODE(VK_ERROR_DEVICE_LOST, Lost),
    RDMAGPU_VULKAN_CODE(VK_ERROR_MEMORY_MAP_FAILED, OutOfMemory),
    RDMAGPU_VULKAN_CODE(VK_ERROR_LAYER_NOT_PRESENT, NotFound),
    RDMAGPU_VULKAN_CODE(VK_ERROR_EXTENSION_NOT_PRESENT, Unsupported),
    RDMAGPU_VULKAN_CODE(VK_ERROR_FEATURE_NOT_PRESENT, Unsupported),
    RDMAGPU_VULKAN_CODE(VK_ERROR_INCOMPATIBLE_DRIVER, NotFound),
    RDMAGPU_VULKAN_CODE(VK_ERROR_TOO_MANY_OBJECTS, OutOfMemory),
    RDMAGPU_VULKAN_CODE(VK_ERROR_FRAGMENTED_POOL, OutOfMemory),
    RDMAGPU_VULKAN_CODE(VK_ERROR_UNKNOWN, Internal),
    RDMAGPU_VULKAN_CODE(VK_ERROR_OUT_OF_POOL_MEMORY, OutOfMemory),
    RDMAGPU_VULKAN_CODE(VK_ERROR_INVALID_EXTERNAL_HANDLE, Unsupported),
    RDMAGPU_VULKAN_CODE(VK_ERROR_FRAGMENTATION, OutOfMemory),
    RDMAGPU_VULKAN_CODE(VK_ERROR_NOT_PERMITTED_KHR, Permission),
};
#undef RDMAGPU_VULKAN_CODE

} // namespace

Error failure(const char* symbol, Status status, std::uint64_t bytes) noexcept {
  const auto value = static_cast<std::int32_t>(status);
  return codeError(Origin::Vulkan, codes, symbol, value, bytes);
}

} // namespace rdmagpu::driver::vulkan
