#pragma once
#include <base/symbol.hpp>

#include <cstdint>
#include <type_traits>

namespace rdmagpu::driver {

enum class Need : std::uint8_t { Required, Optional };

/// Looks symbols up and remembers the first required one that is absent.
class Loader {
public:
  explicit Loader(SymbolSource& source) noexcept : m_source(&source) {}
  void* operator()(const char* symbol, Need need) noexcept {
    void* f = m_source->find(symbol);
    if(!f && need == Need::Required && !m_missing)
      m_missing = symbol;
    return f;
  }
  const char* missing() const noexcept { return m_missing; }

private:
  SymbolSource* m_source;
  const char* m_missing{};
};

/// One driver function. Its symbol is part of its type, so whatever reports a failure can name the
/// call. Calling an absent one returns the driver's own "not available" status.
template <Symbol Name, class Signature, Need N = Need::Required>
class Fn;

template <Symbol Name, Need N, class Status, class... Args>
class Fn<Name, Status(Args...), N> {
public:
  explicit Fn(Loader& load) noexcept {
    if(void* f = load(Name.text, N))
      m_call = reinterpret_cast<Status (*)(Args...)>(f); // what a symbol table gives has no type
  }
  Status operator()(Args... args) const noexcept { return m_call(args...); }
  explicit operator bool() const noexcept { return m_call != &absent; }
  static constexpr const char* symbol() noexcept { return Name.text; }

private:
  static Status absent(Args...) noexcept {
    if constexpr(std::is_pointer_v<Status>)
      return nullptr;
    else if constexpr(!std::is_void_v<Status>)
      return notAvailable(Status{}); // found beside the status enum
  }
  Status (*m_call)(Args...) = &absent;
};

} // namespace rdmagpu::driver
