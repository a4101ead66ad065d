#include <backend/cuda_canaries.hpp>
#include <os/cpu_relax.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

namespace rdmagpu::backend::cuda {
namespace {

std::size_t blocksFor(std::size_t places) noexcept {
  return (places + threadsPerSampleBlock - 1) / threadsPerSampleBlock;
}

/// A kernel answers for whole blocks.
std::size_t answersFor(std::size_t places) noexcept {
  return blocksFor(places) * (threadsPerSampleBlock / Canaries::bitsPerWord);
}

/// Slots do not share a cache line, which the GPU would write twice.
std::size_t wordsFor(std::size_t places) noexcept {
  constexpr std::size_t perLine = 128 / sizeof(std::uint64_t);
  return (answersFor(places) + perLine - 1) / perLine * perLine;
}

/// The lower half of a number is never 0, and another one for 2^32 calls.
std::uint64_t nextNumber(std::uint64_t number) noexcept {
  return static_cast<std::uint32_t>(number + 1) == 0 ? number + 2 : number + 1;
}

/// The GPU writes it.
std::uint64_t loaded(std::uint64_t& word) noexcept {
  return std::atomic_ref{word}.load(std::memory_order_acquire);
}

/// Waits for a word that bears that number. False when it does not come within the time that a kernel takes
/// where the GPU has nothing else to do, several times over.
bool awaitAnswer(std::uint64_t& word, std::uint32_t number) noexcept {
  constexpr std::chrono::microseconds most{200};
  constexpr int looksAtOnce = 64;
  std::optional<std::chrono::steady_clock::time_point> end;
  for(;;) {
    for(int i = 0; i < looksAtOnce; ++i) {
      if(loaded(word) >> 32U == number)
        return true;
      os::cpuRelax();
    }
    const auto now = std::chrono::steady_clock::now();
    if(!end)
      end = now + most;
    else if(now > *end)
      return false;
  }
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
    static_cast<void>(m_answers.release());
    static_cast<void>(m_tables.release());
    return;
  }
  for(const auto* stream : {&m_looks, &m_lays}) {
    if(*stream) // a kernel ends a little after its answer
      logRelease(cuda.call(0, cuda.streamSynchronize, stream->get()));
  }
  m_lays.reset();
  m_looks.reset();
  m_answers.reset();
  m_tables.reset();
}

/// The slots' tables one after the other. What was at a place is not known before the first look.
std::vector<SampledPlace> CudaCanaries::layOut(api::DevicePtr base, std::span<const CanarySlot> slots) {
  std::vector<SampledPlace> table;
  m_slots.reserve(slots.size());
  for(const CanarySlot& slot : slots) {
    m_slots.push_back({.job = {.slot = base + slot.offset, .places = slot.places.size()}});
    for(const CanaryPlace& place : slot.places)
      table.push_back({.where = place.offset << widthBits | place.width});
  }
  std::size_t words{};
  for(const Slot& slot : m_slots)
    words += wordsFor(slot.job.places);
  m_bits.resize(words);
  std::uint32_t* bits = m_bits.data();
  for(Slot& slot : m_slots) {
    slot.bits = bits;
    bits += wordsFor(slot.job.places);
  }
  return table;
}

Result<void> CudaCanaries::prepare(std::span<const SampledPlace> table) noexcept {
  if(const auto uploaded = upload(table); !uploaded)
    return uploaded;
  if(const auto pinned = pin(m_bits.size()); !pinned)
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
    slot.job.table = memory;
    memory += slot.job.places * sizeof(SampledPlace);
  }
  // The streams do not wait for the default one.
  return cuda.call(0, cuda.streamSynchronize, api::Stream{});
}

Result<void> CudaCanaries::pin(std::size_t words) noexcept {
  const api::Functions& cuda = loadedDriver();
  const std::size_t bytes = words * sizeof(std::uint64_t);
  void* memory{};
  const auto taken = cuda.call(bytes, cuda.memHostAlloc, &memory, bytes, api::HostAllocFlags::DeviceMap);
  if(!taken)
    return taken;
  m_answers = Unique<PinnedTraits>{memory};
  std::memset(memory, 0, bytes); // no call has the number 0
  api::DevicePtr seenByGpu{};
  if(const auto mapped = cuda.call(bytes, cuda.memHostGetDevicePointer, &seenByGpu, memory, 0U); !mapped)
    return mapped;
  auto* word = static_cast<std::uint64_t*>(memory);
  for(Slot& slot : m_slots) {
    const std::size_t own = wordsFor(slot.job.places);
    slot.words = word;
    slot.job.answer = seenByGpu;
    word += own;
    seenByGpu += own * sizeof(std::uint64_t);
  }
  return {};
}

Result<void> CudaCanaries::start(std::span<const CanaryTask> tasks) noexcept {
  api::Stream stream = m_looks.get();
  std::array<SampleJob, mostTasks> jobs{};
  for(std::size_t i = 0; i < tasks.size(); ++i) {
    SampleJob& job = m_slots[tasks[i].slot].job;
    job.key = tasks[i].key.value_or(0);
    job.lay = tasks[i].key ? 1 : 0;
    job.number = nextNumber(job.number);
    jobs[i] = job;
    if(tasks[i].key)
      stream = m_lays.get();
  }
  for(const CanaryTask& task : tasks)
    m_slots[task.slot].stream = stream;
  return runIn(m_sampler.context, [&] { return launch(jobs, tasks.size(), stream); });
}

Result<void> CudaCanaries::launch(std::span<SampleJob, mostTasks> jobs, std::size_t rows,
                                  api::Stream stream) noexcept {
  const api::Functions& cuda = loadedDriver();
  if(m_mayRun) {
    if(const auto ended = endStrayKernels(); !ended)
      return ended;
  }
  if(m_flush) {
    const auto flushed = cuda.call(0, cuda.flushGpuDirectRdmaWrites, api::FlushTarget::CurrentContext,
                                   api::FlushScope::ToOwner);
    if(!flushed)
      return flushed;
  }
  void* parameters[] = {jobs.data()};
  const auto blocks = static_cast<unsigned>(blocksFor(std::max(jobs.front().places, jobs.back().places)));
  return cuda.call(0, cuda.launchKernel, m_sampler.function, blocks, static_cast<unsigned>(rows), 1U,
                   threadsPerSampleBlock, 1U, 1U, 0U, stream, parameters, nullptr);
}

/// Waits for kernels whose answer nobody got.
Result<void> CudaCanaries::endStrayKernels() noexcept {
  const api::Functions& cuda = loadedDriver();
  for(const auto* stream : {&m_looks, &m_lays}) {
    if(const auto waited = cuda.call(0, cuda.streamSynchronize, stream->get()); !waited)
      return waited;
  }
  m_mayRun = false;
  return {};
}

Result<Canaries::Changed> CudaCanaries::finish(std::size_t index) noexcept {
  Slot& slot = m_slots[index];
  const auto number = static_cast<std::uint32_t>(slot.job.number);
  const std::size_t answers = answersFor(slot.job.places);
  for(std::size_t i = 0; i < answers; ++i) {
    if(awaitAnswer(slot.words[i], number))
      continue;
    const api::Functions& cuda = loadedDriver();
    const auto waited =
        runIn(m_sampler.context, [&] { return cuda.call(0, cuda.streamSynchronize, slot.stream); });
    if(!waited) {
      m_mayRun = true;
      return waited.error();
    }
  }
  const std::size_t words = (slot.job.places + bitsPerWord - 1) / bitsPerWord;
  for(std::size_t i = 0; i < words; ++i)
    slot.bits[i] = static_cast<std::uint32_t>(loaded(slot.words[i]));
  return Changed{slot.bits, words};
}

} // namespace rdmagpu::backend::cuda
