#pragma once
#include <base/library_error.hpp>
#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/error.h>
#include <rdmagpu/c/ring.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Structs that begin with their size: caller and library may be of different versions.
namespace rdmagpu::capi {

/// What a struct had in the first version that was released: callers have at least that. To be specialised
/// for a struct that grows, or its older callers are refused.
template <class Struct>
inline constexpr std::size_t firstBytes = sizeof(Struct);

template <>
inline constexpr std::size_t firstBytes<rdmagpu_error> = offsetof(rdmagpu_error, fd);
template <>
inline constexpr std::size_t firstBytes<rdmagpu_facts> = offsetof(rdmagpu_facts, p2pmem_bytes);
template <>
inline constexpr std::size_t firstBytes<rdmagpu_frame> = offsetof(rdmagpu_frame, fault);

/// More than any struct has: a larger size was never set, and what lies there is not the caller's struct.
inline constexpr std::size_t mostBytes = 4096;

template <class Struct>
Result<void> checkStruct(const char* call, const Struct* given) noexcept {
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  static_assert(sizeof(Struct) <= mostBytes);
  if(!given)
    return libraryError(call, LibraryCode::PointerNull);
  const std::size_t size = given->struct_size;
  if(size < firstBytes<Struct>)
    return libraryError(call, LibraryCode::StructSize, size, firstBytes<Struct>);
  if(size > mostBytes)
    return libraryError(call, LibraryCode::StructSize, size, sizeof(Struct));
  return {};
}

/// What the caller has set, and 0 for what its version did not have. One that has set what this version does
/// not know is refused.
template <class Struct>
Result<Struct> read(const char* call, const Struct* from) noexcept {
  if(const auto good = checkStruct(call, from); !good)
    return good.error();
  const std::size_t size = from->struct_size;
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
  if(const auto good = checkStruct(call, to); !good)
    return good;
  const std::size_t size = to->struct_size;
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min(size, sizeof value));
  if(size > sizeof value)
    std::memset(reinterpret_cast<unsigned char*>(to) + sizeof value, 0, size - sizeof value);
  return {};
}

} // namespace rdmagpu::capi
