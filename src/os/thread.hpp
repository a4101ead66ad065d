#pragma once
#include <rdmagpu/error.hpp>

#include <functional>
#include <system_error>
#include <thread>

namespace rdmagpu::os {

/// Starts a thread that no signal of the process is delivered to: those are for the threads that the
/// program itself made. Throws bad_alloc only.
Result<std::thread> startThread(std::function<void()> body);

/// What std::thread has thrown, as this library tells it.
Error threadRefused(const std::system_error&) noexcept;

} // namespace rdmagpu::os
