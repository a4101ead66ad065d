#include <capi/call.hpp>
#include <capi/completion.hpp>
#include <capi/objects.hpp>

#include <memory>

using namespace rdmagpu;

namespace {

static_assert(sizeof(Copy) <= sizeof(rdmagpu_copy));
static_assert(alignof(rdmagpu_copy) % alignof(Copy) == 0);

/// A Copy lies in the caller's struct, so that none is allocated. All bytes 0 are a Copy of nothing, which
/// need not be destroyed.
const Copy& in(const rdmagpu_copy& copy) noexcept {
  return *std::launder(reinterpret_cast<const Copy*>(&copy));
}

bool isNone(const rdmagpu_copy* copy) noexcept {
  constexpr rdmagpu_copy none{};
  return !copy || std::memcmp(copy, &none, sizeof none) == 0;
}

void keep(rdmagpu_copy* copy, Copy begun) noexcept {
  if(!copy)
    return;
  *copy = {};
  new (static_cast<void*>(copy)) Copy{std::move(begun)};
}

template <class Begin>
int begin(const char* call, rdmagpu_copy_queue* queue, const void* bytes, std::size_t size,
          rdmagpu_copy* copy, rdmagpu_error* error, Begin begin) noexcept {
  return capi::run(call, error, [&]() -> Result<void> {
    if(!queue || (!bytes && size != 0))
      return libraryError(call, LibraryCode::PointerNull);
    auto begun = begin();
    if(!begun)
      return begun.error();
    keep(copy, *std::move(begun));
    return {};
  });
}

Result<CopyQueueOptions> readOptions(const char* call, const rdmagpu_copy_queue_options* from) noexcept {
  CopyQueueOptions options;
  if(!from)
    return options;
  const auto c = capi::read(call, from);
  if(!c)
    return c.error();
  if(c->streams != 0)
    options.streams = c->streams;
  if(c->depth != 0)
    options.depth = c->depth;
  if(c->on_stream > 1)
    return libraryError("rdmagpu_copy_queue_options::on_stream", LibraryCode::ValueUnknown, c->on_stream, 1);
  if(c->on_stream == 1)
    options.stream = CudaStream{static_cast<decltype(CudaStream::value)>(c->cuda_stream)};
  return options;
}

} // namespace

extern "C" {

int rdmagpu_copy_queue_create(const rdmagpu_buffer* buffer, const rdmagpu_copy_queue_options* options,
                              rdmagpu_copy_queue** queue, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_copy_queue_create";
  return capi::create(call, queue, error, [&]() -> Result<CopyQueue> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    const auto wanted = readOptions(call, options);
    if(!wanted)
      return wanted.error();
    return CopyQueue::make(buffer->value, *wanted);
  });
}

void rdmagpu_copy_queue_destroy(rdmagpu_copy_queue* queue) { delete queue; }

int rdmagpu_copy_queue_upload(rdmagpu_copy_queue* queue, uint32_t slot, uint64_t offset, const void* from,
                              size_t bytes, rdmagpu_copy* copy, rdmagpu_error* error) {
  return begin("rdmagpu_copy_queue_upload", queue, from, bytes, copy, error, [&] {
    return queue->value.upload(slot, {static_cast<const std::byte*>(from), bytes}, offset);
  });
}

int rdmagpu_copy_queue_download(rdmagpu_copy_queue* queue, uint32_t slot, uint64_t offset, void* to,
                                size_t bytes, rdmagpu_copy* copy, rdmagpu_error* error) {
  return begin("rdmagpu_copy_queue_download", queue, to, bytes, copy, error, [&] {
    return queue->value.download(slot, {static_cast<std::byte*>(to), bytes}, offset);
  });
}

int rdmagpu_copy_queue_finish(rdmagpu_copy_queue* queue, rdmagpu_error* error) {
  return capi::run("rdmagpu_copy_queue_finish", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_copy_queue_finish", queue); !given)
      return given;
    return queue->value.finish();
  });
}

bool rdmagpu_copy_done(const rdmagpu_copy* copy) { return isNone(copy) || in(*copy).done(); }

int rdmagpu_copy_wait(const rdmagpu_copy* copy, rdmagpu_error* error) {
  return capi::answer(isNone(copy) ? Result<void>{} : in(*copy).wait(), error);
}

rdmagpu_completion rdmagpu_copy_completion(const rdmagpu_copy* copy) {
  return isNone(copy) ? rdmagpu_completion{} : capi::toC(in(*copy).completion());
}

void rdmagpu_copy_release(rdmagpu_copy* copy) {
  if(isNone(copy))
    return;
  std::destroy_at(std::launder(reinterpret_cast<Copy*>(copy)));
  *copy = {};
}

} // extern "C"
