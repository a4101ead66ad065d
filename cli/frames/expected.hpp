#pragma once
#include "frames/input_error.hpp"

#include <optional>
#include <utility>

namespace rdmagpu::cli {

/// A value or an `InputError`, in the shape of rdmagpu::Result, whose Error carries static text only.
/// Reading the value of a failure, or the error of a success, is a bug in the caller.
template <class T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : m_value(std::move(value)) {}
  Expected(InputError error) : m_error(std::move(error)) {}

  bool has_value() const noexcept { return m_value.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  T& operator*() & noexcept { return *m_value; }
  const T& operator*() const& noexcept { return *m_value; }
  T&& operator*() && noexcept { return *std::move(m_value); }
  T* operator->() noexcept { return &*m_value; }
  const T* operator->() const noexcept { return &*m_value; }
  const InputError& error() const noexcept { return *m_error; }

private:
  // Not a variant: GCC 12 takes get_if() in a move for a null dereference.
  std::optional<T> m_value;
  std::optional<InputError> m_error;
};

template <>
class [[nodiscard]] Expected<void> {
public:
  Expected() noexcept = default;
  Expected(InputError error) : m_error(std::move(error)) {}

  bool has_value() const noexcept { return !m_error; }
  explicit operator bool() const noexcept { return has_value(); }
  const InputError& error() const noexcept { return *m_error; }

private:
  std::optional<InputError> m_error;
};

} // namespace rdmagpu::cli
