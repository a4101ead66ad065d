#pragma once
#include <backend/cuda_driver.hpp>
#include <base/unique.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace rdmagpu::backend::cuda {

/// A context, so that it is known again: once it is destroyed its handle may be another's. The driver itself
/// may crash on the handle of a destroyed context, and on events and streams of it, so no other call is made
/// with them before this was asked. H200, driver 580: cuCtxPushCurrent and cuEventQuery ended the process;
/// cuCtxGetId answered CUDA_ERROR_CONTEXT_IS_DESTROYED, of a primary context that was released or reset, too.
struct KnownContext {
  api::Context handle{};
  std::uint64_t id{}; ///< 0: the driver, older than CUDA 12.0, tells none.

  bool operator==(const KnownContext&) const noexcept = default;
  /// An error where the context has gone; none for null. Needs no current one.
  Result<void> check() const noexcept;
};

/// A context that is there now. Null is known as null.
Result<KnownContext> know(api::Context) noexcept;

/// A device whose primary context is retained, with that context. Retaining one anew costs tenths of
/// a second and half a gigabyte of GPU memory.
struct Retained {
  api::Context context{};
  api::Device device{};
  bool operator==(const Retained&) const noexcept = default;
};

struct PrimaryContextTraits {
  using Type = Retained;
  static constexpr Type empty() noexcept { return {}; }
  static void close(Type) noexcept;
};
using PrimaryContext = Unique<PrimaryContextTraits>;

/// A context that was made current on this thread; popped on destruction.
struct PushedTraits {
  using Type = api::Context;
  static constexpr Type empty() noexcept { return nullptr; }
  static void close(Type) noexcept;
};
using PushedContext = Unique<PushedTraits>;

/// Whether the caller has a context current that is on that device.
Result<bool> currentIsOn(api::Device) noexcept;

/// Whether somebody has retained the device's primary context, so that to retain it once more costs nothing.
Result<bool> primaryIsActive(api::Device) noexcept;

/// How many bytes of its GPU's memory are free, as the driver tells in the current context.
Result<void> readFreeBytes(std::uint64_t& free) noexcept;

/// Makes exactly that context current, unless it is already, until `pushed` goes. An error where it has gone.
Result<void> enter(const KnownContext&, PushedContext& pushed) noexcept;

/// The same, to release what lives in that context. False where the context has gone, and that with it: then
/// it is to be forgotten, for its handles may be another's by now.
bool enterToRelease(const KnownContext&, PushedContext& pushed) noexcept;

/// Runs `body`, which returns a Result<void> and does not allocate, with exactly that context current, as
/// what belongs to one context wants it.
template <class Body>
Result<void> runIn(const KnownContext& context, Body body) noexcept {
  PushedContext pushed;
  if(const auto entered = enter(context, pushed); !entered)
    return entered;
  return body();
}

/// Whether what a call leaves behind outlives the context that it was made in.
enum class Keep : std::uint8_t {
  No,  ///< A primary context that was retained for the call is given back after it.
  Yes, ///< It stays retained for as long as the ContextSource: copies come again.
};

/// Where the calls on one piece of memory that need a current context get it from: the one that the
/// caller has current, if that is on this device; else the memory's own; else the device's primary
/// one. The caller's current context is as it was after every call.
class ContextSource {
public:
  explicit ContextSource(api::Device device) noexcept : m_device(device) {}
  ContextSource(ContextSource&&) = delete;

  /// Runs `body`, which returns a Result<void> and does not allocate, with a context of the device current.
  template <class Body>
  Result<void> run(Keep keep, Body body) const noexcept {
    PrimaryContext retained; // released after the pop
    PushedContext pushed;
    if(const auto entered = enter(keep, retained, pushed); !entered)
      return entered;
    return body();
  }

  /// The context for what lasts as long as the memory: the memory's own; else the caller's current one on
  /// the device, which is the caller's to keep alive; else the primary one, which stays retained.
  Result<KnownContext> lasting() const noexcept;

  /// Makes a context of the device the memory's own: the current one, which is the caller's to keep
  /// alive, or the primary one, which stays retained.
  Result<void> settle() const noexcept;

private:
  Result<void> enter(Keep, PrimaryContext&, PushedContext&) const noexcept;
  /// An error where the memory's own context has gone, and the memory with it: another may have its address.
  Result<void> checkOwn() const noexcept;
  Result<KnownContext> currentOrOwn() const noexcept;
  Result<KnownContext> own(Keep, PrimaryContext&) const noexcept;

  api::Device m_device;
  mutable std::mutex m_mutex;
  mutable PrimaryContext m_retained; ///< Under m_mutex.
  mutable KnownContext m_own;        ///< Under m_mutex. Null: none yet.
};

} // namespace rdmagpu::backend::cuda
