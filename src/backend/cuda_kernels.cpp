#include <backend/cuda_kernels.hpp>
#include <backend/cuda_kernels_ptx.hpp>
#include <base/mix.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::backend::cuda {
namespace {

/// Enough to fill the GPUs of today, at eight blocks for each multiprocessor.
constexpr std::size_t mostBlocks = 1024;

unsigned blocksFor(std::size_t bytes) noexcept {
  constexpr std::size_t bytesPerBlock = threadsPerBlock * bytesPerThread;
  return static_cast<unsigned>(std::clamp<std::size_t>(bytes / bytesPerBlock, 1, mostBlocks));
}

/// Starts a kernel on the current context's default stream. It takes what `parameters` point to before this
/// returns.
template <std::size_t N>
Result<void> launch(api::Function kernel, std::size_t bytes, void* (&parameters)[N]) noexcept {
  const api::Functions& cuda = loadedDriver();
  return cuda.call(bytes, cuda.launchKernel, kernel, blocksFor(bytes), 1U, 1U, threadsPerBlock, 1U, 1U, 0U,
                   api::Stream{}, parameters, nullptr);
}

Result<api::Function> find(api::Module module, const char* kernel) noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Function function{};
  if(const auto found = cuda.call(0, cuda.moduleGetFunction, &function, module, kernel); !found)
    return found.error();
  return function;
}

} // namespace

void ModuleTraits::close(api::Module module) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(0, cuda.moduleUnload, module));
}

void ScratchTraits::close(api::DevicePtr address) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(0, cuda.memFree, address));
}

Kernels::~Kernels() {
  if(!m_module || inForkedChild())
    return;
  PushedContext pushed;
  if(!enterToRelease(m_context, pushed)) {
    static_cast<void>(m_sum.release());
    static_cast<void>(m_module.release());
    return;
  }
  m_sum.reset();
  m_module.reset();
}

Result<void> Kernels::load(const KnownContext& context) const noexcept {
  const api::Functions& cuda = loadedDriver();
  const void* const image = kernelsPtx;
  api::Module loaded{};
  if(const auto made = cuda.call(0, cuda.moduleLoadData, &loaded, image); !made)
    return made;
  Unique<ModuleTraits> module{loaded};
  const auto checksum = find(loaded, "rdmagpu_checksum");
  if(!checksum)
    return checksum.error();
  const auto poison = find(loaded, "rdmagpu_poison");
  if(!poison)
    return poison.error();
  const auto sample = find(loaded, "rdmagpu_sample");
  if(!sample)
    return sample.error();
  api::DevicePtr sum{};
  if(const auto taken = cuda.call(sizeof(std::uint64_t), cuda.memAlloc, &sum, sizeof(std::uint64_t)); !taken)
    return taken;
  m_context = context;
  m_checksum = *checksum;
  m_poison = *poison;
  m_sample = *sample;
  m_module = std::move(module);
  m_sum = Unique<ScratchTraits>{sum};
  return {};
}

/// Runs `body` with the kernels loaded and their context current.
template <class Body>
Result<void> Kernels::run(Body body) const noexcept {
  if(const auto process = checkProcess(); !process) // before the lock, which a child could find taken
    return process;
  const std::lock_guard lock{m_mutex};
  const auto context = m_module ? Result<KnownContext>{m_context} : m_contexts.lasting();
  if(!context)
    return context.error();
  return runIn(*context, [&]() -> Result<void> {
    if(!m_module) {
      if(const auto loaded = load(*context); !loaded)
        return loaded;
    }
    return body();
  });
}

Result<KernelInContext> Kernels::sampler() const noexcept {
  KernelInContext found;
  const auto loaded = run([&]() -> Result<void> {
    found = {m_context, m_sample};
    return {};
  });
  if(!loaded)
    return loaded.error();
  return found;
}

Result<std::uint64_t> Kernels::checksum(api::DevicePtr from, std::size_t bytes) const noexcept {
  if(bytes == 0)
    return checksumOf(0, 0);
  const api::Functions& cuda = loadedDriver();
  std::uint64_t sum{};
  const auto summedUp = run([&]() -> Result<void> {
    const unsigned char zero = 0;
    api::DevicePtr word = m_sum.get();
    if(const auto set = cuda.call(sizeof sum, cuda.memsetD8, word, zero, sizeof sum); !set)
      return set;
    void* parameters[] = {&from, &bytes, &word};
    if(const auto started = launch(m_checksum, bytes, parameters); !started)
      return started;
    const auto copied = cuda.call(sizeof sum, cuda.memcpyDtoH, static_cast<void*>(&sum), word, sizeof sum);
    if(!copied) // the kernel may still read
      logRelease(cuda.call(0, cuda.streamSynchronize, api::Stream{}));
    return copied;
  });
  if(!summedUp)
    return summedUp.error();
  return checksumOf(sum, bytes);
}

Result<void> Kernels::poison(api::DevicePtr to, std::size_t bytes, std::uint64_t seed) const noexcept {
  const api::Functions& cuda = loadedDriver();
  return run([&]() -> Result<void> {
    std::uint64_t key = poisonKey(seed);
    void* parameters[] = {&to, &bytes, &key};
    if(const auto started = launch(m_poison, bytes, parameters); !started)
      return started;
    return cuda.call(0, cuda.streamSynchronize, api::Stream{});
  });
}

} // namespace rdmagpu::backend::cuda
