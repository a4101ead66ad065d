#pragma once
#include <base/guarded.hpp>
#include <capi/convert.hpp>
#include <capi/structs.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace rdmagpu::capi {

/// What a function of C returns, and tells in `to` if it can. An error that `to` has no room for is told by
/// the number alone.
inline int answer(const Result<void>& done, rdmagpu_error* to) noexcept {
  const Error error = done ? Error{} : done.error();
  if(to)
    static_cast<void>(write(error.call, toC(error), to));
  return static_cast<int>(error.kind);
}

/// Runs the body of a function that can fail, which returns a Result<void>.
template <class Body>
int run(const char* call, rdmagpu_error* error, Body body) noexcept {
  return answer(guarded(call, [&]() -> Result<void> { return body(); }), error);
}

template <class... Pointers>
Result<void> checkPointers(const char* call, const Pointers*... pointers) noexcept {
  return (pointers && ...) ? Result<void>{} : libraryError(call, LibraryCode::PointerNull);
}

inline std::span<const std::byte> bytesAt(const void* data, std::size_t size) noexcept {
  return {static_cast<const std::byte*>(data), data ? size : 0};
}
inline std::span<std::byte> bytesAt(void* data, std::size_t size) noexcept {
  return {static_cast<std::byte*>(data), data ? size : 0};
}

/// The caller's object and bytes; null bytes may be none.
inline Result<void> checkBytes(const char* call, const void* object, const void* bytes,
                               std::size_t size) noexcept {
  return object && (bytes || size == 0) ? Result<void>{} : libraryError(call, LibraryCode::PointerNull);
}

/// What C holds, made where it stays: it may refer to its own parts.
template <class Object, class Value>
std::unique_ptr<Object> makeObject(Value value) {
  return std::unique_ptr<Object>(new Object{std::move(value)});
}

/// Runs the body of a function that creates an object, and returns a Result of what is to be in it.
template <class Object, class Body>
int create(const char* call, Object** object, rdmagpu_error* error, Body body) noexcept {
  if(object)
    *object = nullptr;
  return run(call, error, [&]() -> Result<void> {
    if(!object)
      return libraryError(call, LibraryCode::PointerNull);
    auto made = body();
    if(!made)
      return made.error();
    *object = makeObject<Object>(*std::move(made)).release();
    return {};
  });
}

/// Runs the body of a function that fills a struct with what an object tells.
template <class Object, class Struct, class Tell>
int fill(const char* call, const Object* object, Struct* to, rdmagpu_error* error, Tell tell) noexcept {
  return run(call, error, [&]() -> Result<void> {
    if(const auto given = checkPointers(call, object); !given)
      return given;
    return write(call, tell(*object), to);
  });
}

} // namespace rdmagpu::capi
