#pragma once
#include <base/symbol.hpp>
#include <rdmagpu/error.hpp>

namespace rdmagpu::os {

/// A driver's shared library. Never closed: a driver has threads and handlers of its own, which
/// would run in memory that is gone.
class RDMAGPU_API Library final : public SymbolSource {
public:
  /// Opens by soname, which is static text. One that is not there is DriverAbsent.
  static Result<Library> open(const char* soname) noexcept;
  /// Whether this process has it loaded, whoever has done so. Loads nothing.
  static bool isLoaded(const char* soname) noexcept;
  void* find(const char* symbol) noexcept override;

private:
  explicit Library(void* handle) noexcept : m_handle(handle) {}
  void* m_handle;
};

} // namespace rdmagpu::os
