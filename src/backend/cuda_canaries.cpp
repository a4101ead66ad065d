#include <backend/cuda_canaries.hpp>

#include <utility>

namespace rdmagpu::backend::cuda {
namespace {

std::size_t blocksFor(std::size_t places) noexcept {
  return (places + threadsPerBlock - 1) / threadsPerBlock;
}

/// A kernel answers for whole blocks. Slots do not share a cache line, which the GPU would write twice.
std::size_t wordsFor(std::size_t places) noexcept {
  constexpr std::size_t perBlock = threadsPerBlock / Canaries::bitsPerWord;
  constexpr std::size_t perLine = 128 / sizeof(std::uint32_t);
  return (blocksFor(places) * perBlock + perLine - 1) / perLine * perLine;
}

Result<api::Stream> makeStream() noexcept {
  const api::Functions& cuda = loadedDriver();
  api::Stream stream{};
  if(const auto made = cuda.call(0, cuda.streamCreate, &stream, api::StreamFlags::NonBlocking); !made)
    return made.error();
  return stream;
}

} // namespace

void PinnedTraits::close(void* memory) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(0, cuda.memFreeHost, memory));
}

Result<std::unique_ptr<Canaries>> CudaCanaries::open(const Kernels& kernels, api::DevicePtr base, bool flush,
                                                     std::span<const CanarySlot> slots) {
  const auto sampler = kernels.sampler();
  if(!sampler)
    return sampler.error();
  auto canaries = std::make_unique<CudaCanaries>(*sampler, flush);
  const std::vector<SampledPlace> table = canaries->layOut(base, slots);
  const auto prepared = runIn(sampler->context, [&] { return canaries->prepare(table); });
  if(!prepared)
    return prepared.error();
  return std::unique_ptr<Canaries>{std::move(canaries)};
}

CudaCanaries::~CudaCanaries() {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  PushedContext pushed;
  if(!enterToRelease(m_sampler.context, pushed)) {
    for(auto* const stream : {&m_looks, &m_lays})
      static_cast<void>(stream->release());
    static_cast<void>(m_changed.release());
    static_cast<void>(m_tables.release());
    return;
  }
  if(m_mayRun) {
    for(const auto* stream : {&m_looks, &m_lays})
      logRelease(cuda.call(0, cuda.streamSynchronize, stream->get()));
  }
  m_lays.reset();
  m_looks.reset();
  m_changed.reset();
  m_tables.reset();
}

/// The slots' tables one after the other. What was at a place is not known before the first look.
std::vector<SampledPlace> CudaCanaries::layOut(api::DevicePtr base, std::span<const CanarySlot> slots) {
  std::vector<SampledPlace> table;
  m_slots.reserve(slots.size());
  for(const CanarySlot& slot : slots) {
    m_slots.push_back({.data = base + slot.offset, .places = slot.places.size()});
    for(const CanaryPlace& place : slot.places)
      table.push_back({.where = place.offset << widthBits | place.width});
  }
  return table;
}

Result<void> CudaCanaries::prepare(std::span<const SampledPlace> table) noexcept {
  if(const auto uploaded = upload(table); !uploaded)
    return uploaded;
  std::size_t words{};
  for(const Slot& slot : m_slots)
    words += wordsFor(slot.places);
  if(const auto pinned = pin(words); !pinned)
    return pinned;
  for(auto* const owner : {&m_looks, &m_lays}) {
    const auto stream = makeStream();
    if(!stream)
      return stream.error();
    *owner = Unique<StreamTraits>{*stream};
  }
  return {};
}

Result<void> CudaCanaries::upload(std::span<const SampledPlace> table) noexcept {
  const api::Functions& cuda = loadedDriver();
  const std::size_t bytes = table.size_bytes();
  api::DevicePtr memory{};
  if(const auto taken = cuda.call(bytes, cuda.memAlloc, &memory, bytes); !taken)
    return taken;
  m_tables = Unique<ScratchTraits>{memory};
  const void* const source = table.data();
  if(const auto copied = cuda.call(bytes, cuda.memcpyHtoD, memory, source, bytes); !copied)
    return copied;
  for(Slot& slot : m_slots) {
    slot.table = memory;
    memory += slot.places * sizeof(SampledPlace);
  }
  // The streams do not wait for the default one.
  return cuda.call(0, cuda.streamSynchronize, api::Stream{});
}

Result<void> CudaCanaries::pin(std::size_t words) noexcept {
  const api::Functions& cuda = loadedDriver();
  const std::size_t bytes = words * sizeof(std::uint32_t);
  void* memory{};
  const auto taken = cuda.call(bytes, cuda.memHostAlloc, &memory, bytes, api::HostAllocFlags::DeviceMap);
  if(!taken)
    return taken;
  m_changed = Unique<PinnedTraits>{memory};
  api::DevicePtr seenByGpu{};
  if(const auto mapped = cuda.call(bytes, cuda.memHostGetDevicePointer, &seenByGpu, memory, 0U); !mapped)
    return mapped;
  const auto* bits = static_cast<const std::uint32_t*>(memory);
  for(Slot& slot : m_slots) {
    const std::size_t own = wordsFor(slot.places);
    slot.bits = bits;
    slot.changed = seenByGpu;
    bits += own;
    seenByGpu += own * sizeof(std::uint32_t);
  }
  return {};
}

Result<Canaries::Changed> CudaCanaries::look(std::size_t slot) noexcept {
  return sample(m_slots[slot], m_looks.get(), 0, 0);
}

Result<Canaries::Changed> CudaCanaries::lay(std::size_t slot, std::uint64_t key) noexcept {
  return sample(m_slots[slot], m_lays.get(), key, 1);
}

Result<Canaries::Changed> CudaCanaries::sample(const Slot& slot, api::Stream stream, std::uint64_t key,
                                               std::uint64_t lay) noexcept {
  const api::Functions& cuda = loadedDriver();
  const auto sampled = runIn(m_sampler.context, [&]() -> Result<void> {
    if(m_flush) {
      const auto flushed = cuda.call(0, cuda.flushGpuDirectRdmaWrites, api::FlushTarget::CurrentContext,
                                     api::FlushScope::ToOwner);
      if(!flushed)
        return flushed;
    }
    Slot given = slot;
    void* parameters[] = {&given.data, &given.table, &given.places, &key, &lay, &given.changed};
    const auto blocks = static_cast<unsigned>(blocksFor(slot.places));
    const auto started = cuda.call(0, cuda.launchKernel, m_sampler.function, blocks, 1U, 1U, threadsPerBlock,
                                   1U, 1U, 0U, stream, parameters, nullptr);
    if(!started)
      return started;
    auto waited = cuda.call(0, cuda.streamSynchronize, stream);
    if(!waited)
      m_mayRun = true;
    return waited;
  });
  if(!sampled)
    return sampled.error();
  return Changed{slot.bits, (slot.places + bitsPerWord - 1) / bitsPerWord};
}

} // namespace rdmagpu::backend::cuda
