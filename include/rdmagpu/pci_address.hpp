#pragma once
#include <rdmagpu/export.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmagpu {

/// Where a device sits on the PCI bus; the same for one device in every API. Written
/// "0000:65:00.0", as the Linux kernel and lspci do.
struct RDMAGPU_API PciAddress {
  std::uint32_t domain{};
  std::uint8_t bus{};
  std::uint8_t device{};   ///< 0 to 31.
  std::uint8_t function{}; ///< 0 to 7.

  /// Reads "65:00.0" (domain 0) or "0000:65:00.0", in hexadecimal; anything else is nullopt.
  static std::optional<PciAddress> parse(std::string_view text) noexcept;
  std::string text() const;
  auto operator<=>(const PciAddress&) const = default; // NOLINT(modernize-use-nullptr): clang-tidy 14 errs
};

} // namespace rdmagpu
