#pragma once
#include <base/library_error.hpp>
#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/verify.h>
#include <rdmagpu/error.hpp>
#include <rdmagpu/gpu_selector.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmagpu::capi {

rdmagpu_pci_address toC(const std::optional<PciAddress>&) noexcept;
std::optional<PciAddress> fromC(const rdmagpu_pci_address&) noexcept;
rdmagpu_error toC(const Error&) noexcept;
Error fromC(const rdmagpu_error&) noexcept;
rdmagpu_proof toC(const Proof&) noexcept;
Result<GpuSelector> fromC(const char* call, const rdmagpu_gpu_selector&) noexcept;
/// The handoff of that kind and number; DmaBufOnly for a kind that has no number.
Result<Handoff> handoff(const char* field, std::int32_t kind, std::uint64_t bits) noexcept;
/// Refuses a member that must be 0.
Result<void> checkBits(const char* field, std::uint32_t bits, std::uint32_t known) noexcept;
Result<Handoffs> readAccepts(const char* field, std::uint32_t bits) noexcept;
Result<RdmaGpuBufferConfig> readConfig(const char* call, const rdmagpu_config*) noexcept;

/// A number of C's as the enumerator that it stands for, which `last` is the highest of.
template <class Enum>
std::optional<Enum> enumerator(std::int32_t number, Enum last) noexcept {
  if(number < 0 || number > static_cast<std::int32_t>(last))
    return {};
  return static_cast<Enum>(number);
}

template <class Enum>
const char* nameOf(std::int32_t number, Enum last) noexcept {
  const auto value = enumerator(number, last);
  return value ? name(*value) : nullptr;
}

/// The same, where another number is the caller's mistake in that field.
template <class Enum>
Result<Enum> value(const char* field, std::int32_t number, Enum last) noexcept {
  const auto known = enumerator(number, last);
  if(!known)
    return libraryError(field, LibraryCode::ValueUnknown, static_cast<std::uint32_t>(number),
                        static_cast<std::uint64_t>(last));
  return *known;
}

/// Null: the defaults.
Result<VerifyOptions> readVerifyOptions(const char* call, const rdmagpu_verify_options*) noexcept;

/// As much as there is room for, and a 0. The whole length.
std::size_t copyText(std::string_view from, char* to, std::size_t size) noexcept;

} // namespace rdmagpu::capi
