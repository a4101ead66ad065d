#pragma once
#include <rdmagpu/export.hpp>
#include <rdmagpu/pci_address.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace rdmagpu {

/// What a program can do about a failure. Branch on this, never on `code`.
enum class Errc : std::uint8_t {
  None,            ///< No failure; the value of a default `Error`.
  InvalidArgument, ///< The request could not succeed on any machine.
  NotFound,        ///< No such driver, device or file on this machine.
  Unsupported,     ///< Present, but cannot do this.
  TooOld,          ///< Present, and a newer version could do this.
  Permission,      ///< The operating system refused.
  OutOfMemory,     ///< VRAM, BAR space, address space or host memory is used up.
  Busy,            ///< May work later.
  Lost,            ///< Device or driver is gone until the process restarts.
  Internal,        ///< A bug here, or a driver answer this library does not know.
};

/// Which component answered. Names the code space that `Error::code` belongs to.
enum class Origin : std::uint8_t {
  Library,
  Os,
  Cuda,
  Vulkan,
  D3D12,
  NvApi,
  Hip,
  Hsa,
  LevelZero,
  Verbs,
  Fabric,
  VideoMaster, ///< Deltacast's SDK.
  Peer,        ///< Another peer's SDK; the call says which.
  CuFile,      ///< NVIDIA's GPUDirect Storage.
};

/// The names as written above, for reports. Static text.
RDMAGPU_API const char* name(Errc) noexcept;
RDMAGPU_API const char* name(Origin) noexcept;

/// One failure: who answered, to which call, with what code, and what to do.
/// Trivially copyable and never allocates, so it can be made while out of
/// memory. Every pointer refers to static text and is never null.
struct RDMAGPU_API Error {
  Errc kind{};
  Origin origin{};
  std::int64_t code{};             ///< The component's own code; errno for `Os`.
  const char* call = "";           ///< The call that failed, as its vendor spells it.
  const char* codeName = "";       ///< The vendor's name for `code`, or empty.
  const char* finding = "";        ///< The doctor's id for this kind of failure; hints() has the sentences.
  std::uint64_t bytes{};           ///< The size or count that was asked for, when the call had one.
  std::uint64_t available{};       ///< What there was, or the limit, when that is known.
  std::int32_t device = -1;        ///< Device ordinal, when there is one.
  std::int32_t slot = -1;          ///< Slot index, when there is one.
  std::optional<PciAddress> pci{}; ///< Of the device that was named, when it was by its address.
  std::optional<std::array<std::byte, 16>> uuid{}; ///< The same, when it was by its UUID.
  std::int32_t fd = -1;  ///< Descriptor that was handed over, when it is what was wrong.
  std::uint64_t total{}; ///< How much there is in all, when nobody tells what of it is free.

  /// One line: what failed, the rule it broke, and the numbers. Allocates.
  std::string message() const;
  /// What to do about it, most likely cause first; static text, empty when nothing is known.
  std::span<const char* const> hints() const noexcept;
};
static_assert(std::is_trivially_copyable_v<Error>);

/// One row of the table behind `Error::hints()`. The doctor and docs/errors.md print the same table.
struct Hint {
  /// A code that no component has.
  static constexpr std::int64_t anyCode = std::numeric_limits<std::int64_t>::min();

  Origin origin;
  const char* call;  ///< Empty: any call of that origin.
  std::int64_t code; ///< anyCode: any code of that call.
  const char* codeName;
  const char* finding;
  std::span<const char* const> sentences; ///< Most likely cause first.
};

/// Every row that there is, in the order in which they are matched.
RDMAGPU_API std::span<const Hint> hintTable() noexcept;

/// A value or an `Error`. Its consumer side is a subset of `std::expected`.
/// Reading the value of a failure, or the error of a success, is a bug in the caller.
template <class T>
class [[nodiscard]] Result {
public:
  Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) noexcept : m_state(std::in_place_index<1>, error) {}

  bool has_value() const noexcept { return m_state.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  T& operator*() & noexcept { return *std::get_if<0>(&m_state); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&m_state); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&m_state)); }
  T* operator->() noexcept { return std::get_if<0>(&m_state); }
  const T* operator->() const noexcept { return std::get_if<0>(&m_state); }
  const Error& error() const noexcept { return *std::get_if<1>(&m_state); }

private:
  std::variant<T, Error> m_state;
};

template <>
class [[nodiscard]] Result<void> {
public:
  Result() noexcept = default;
  Result(Error error) noexcept : m_error(error) {}

  bool has_value() const noexcept { return m_error.kind == Errc::None; }
  explicit operator bool() const noexcept { return has_value(); }
  const Error& error() const noexcept { return m_error; }

private:
  Error m_error{};
};

} // namespace rdmagpu
