#pragma once
#include <rdmagpu/error.hpp>

#include <functional>
#include <thread>

namespace rdmagpu::os {

/// Starts a thread that no signal of the process is delivered to: those are for the threads that the
/// program itself made. Throws bad_alloc only.
Result<std::thread> startThread(std::function<void()> body);

} // namespace rdmagpu::os
