#pragma once
#include <base/library_error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Structs that begin with their size: caller and library may be of different versions.
namespace rdmagpu::capi {

/// What a struct had in the first version that was released: callers have at least that.
template <class Struct>
inline constexpr std::size_t firstBytes = sizeof(Struct);

/// What the caller has set, and 0 for what its version did not have. One that has set what this version does
/// not know is refused.
template <class Struct>
Result<Struct> read(const char* call, const Struct* from) noexcept {
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  if(!from)
    return libraryError(call, LibraryCode::PointerNull);
  const std::size_t size = from->struct_size;
  if(size < firstBytes<Struct>)
    return libraryError(call, LibraryCode::StructSize, size, firstBytes<Struct>);
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  if(size > sizeof(Struct) &&
     std::any_of(bytes + sizeof(Struct), bytes + size, [](unsigned char byte) { return byte != 0; }))
    return libraryError(call, LibraryCode::StructSize, size, sizeof(Struct));
  Struct known{};
  std::memcpy(&known, from, std::min(size, sizeof known));
  return known;
}

/// Fills in what the caller's version has, and 0 where it has more.
template <class Struct>
Result<void> write(const char* call, Struct value, Struct* to) noexcept {
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  if(!to)
    return libraryError(call, LibraryCode::PointerNull);
  const std::size_t size = to->struct_size;
  if(size < firstBytes<Struct>)
    return libraryError(call, LibraryCode::StructSize, size, firstBytes<Struct>);
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min(size, sizeof value));
  if(size > sizeof value)
    std::memset(reinterpret_cast<unsigned char*>(to) + sizeof value, 0, size - sizeof value);
  return {};
}

} // namespace rdmagpu::capi
