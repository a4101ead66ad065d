#pragma once
#include <driver/vulkan.hpp>
#include <rdmagpu/error.hpp>

namespace rdmagpu::backend::vulkan {

namespace api = driver::vulkan;

/// Vulkan's loader, loaded on first use. An error when it is not installed, older than Vulkan 1.1, or was
/// first used by the process that this one was forked from.
Result<const api::LoaderFunctions*> openDriver() noexcept;

/// Fails in a forked child: there no driver works that its parent had used, and nothing of the parent's may
/// be freed.
Result<void> checkProcess() noexcept;
inline bool inForkedChild() noexcept { return !checkProcess(); }

} // namespace rdmagpu::backend::vulkan
