#pragma once
#include <rdmagpu/c/verify.h>
#include <rdmagpu/error.hpp>
#include <rdmagpu/verify.hpp>

namespace rdmagpu::capi {

/// Null: the defaults.
Result<VerifyOptions> readVerifyOptions(const char* call, const rdmagpu_verify_options*) noexcept;

} // namespace rdmagpu::capi
