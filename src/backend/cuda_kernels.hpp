#pragma once
#include <backend/cuda_context.hpp>
#include <base/unique.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rdmagpu::backend::cuda {

struct ModuleTraits {
  using Type = api::Module;
  static constexpr Type empty() noexcept { return nullptr; }
  static void close(Type) noexcept;
};

/// A few bytes of cuMemAlloc, as they come.
struct ScratchTraits {
  using Type = api::DevicePtr;
  static constexpr Type empty() noexcept { return 0; }
  static void close(Type) noexcept;
};

/// A kernel, and the context that it is to be launched in.
struct KernelInContext {
  KnownContext context;
  api::Function function{};
};

/// The kernels of cuda_kernels_ptx.hpp, for one region. They are compiled and loaded when the first one is
/// needed, into the region's lasting context, and unloaded with this object, which goes before the region's
/// memory and contexts. Members may be called from several threads at once; one is served at a time.
class Kernels {
public:
  explicit Kernels(const ContextSource& contexts) noexcept : m_contexts(contexts) {}
  Kernels(Kernels&&) = delete;
  ~Kernels();

  /// What checksum() says of those bytes.
  Result<std::uint64_t> checksum(api::DevicePtr from, std::size_t bytes) const noexcept;
  /// Writes what poison() writes; both are multiples of 16. Returns when done.
  Result<void> poison(api::DevicePtr to, std::size_t bytes, std::uint64_t seed) const noexcept;
  /// rdmagpu_sample, which is there as long as this object.
  Result<KernelInContext> sampler() const noexcept;

private:
  template <class Body>
  Result<void> run(Body) const noexcept;
  Result<void> load(const KnownContext&) const noexcept;

  const ContextSource& m_contexts;
  mutable std::mutex m_mutex; ///< Of all that follows. Held during a call, which has the word to itself.
  mutable KnownContext m_context;
  mutable api::Function m_checksum = nullptr;
  mutable api::Function m_poison = nullptr;
  mutable api::Function m_sample = nullptr;
  mutable Unique<ModuleTraits> m_module;
  mutable Unique<ScratchTraits> m_sum; ///< The word that a checksum's terms are added to.
};

} // namespace rdmagpu::backend::cuda
