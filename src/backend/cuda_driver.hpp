#pragma once
#include <driver/cuda.hpp>
#include <rdmagpu/error.hpp>

#include <cstdint>

namespace rdmagpu::backend::cuda {

namespace api = driver::cuda;

/// CUDA's driver, loaded on first use and initialised. An error when it is not installed, too old,
/// refuses to start, or was initialised by the process that this one was forked from.
Result<const api::Functions*> openDriver() noexcept;

/// The functions, for what exists only because openDriver() has succeeded.
const api::Functions& loadedDriver() noexcept;

/// The functions, for asking about what others have made; null when this process has not loaded the driver,
/// or is the child of one that had. Initialises nothing: until somebody does, every function says so.
const api::Functions* driverOfThisProcess() noexcept;

/// Fails in a forked child: there nothing of CUDA works, and nothing of the parent's may be freed.
Result<void> checkProcess() noexcept;
inline bool inForkedChild() noexcept { return !checkProcess(); }

/// For what fails while something is released: to the log, unless the driver itself is gone
/// already, as at the end of a process, and has taken everything with it.
void logRelease(const Result<void>& released) noexcept;

} // namespace rdmagpu::backend::cuda
