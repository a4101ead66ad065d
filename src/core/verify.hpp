#pragma once
#include <rdmagpu/verify.hpp>

namespace rdmagpu::core {

/// What there is to say before any byte has moved.
VerifyReport untriedReport(const RdmaGpuBuffer&, const char* peer) noexcept;

} // namespace rdmagpu::core
