#include <capi/call.hpp>
#include <capi/completion.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

namespace {

template <class Work>
int after(const char* call, rdmagpu_cuda_completions* completions, uint32_t slot, Work work,
          rdmagpu_completion* completion, rdmagpu_error* error) noexcept {
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, completions, completion); !given)
      return given;
    const auto made = completions->value.after(slot, work);
    if(!made)
      return made.error();
    *completion = capi::toC(*made);
    return {};
  });
}

} // namespace

extern "C" {

int rdmagpu_cuda_completions_create(uint32_t slotCount, rdmagpu_cuda_completions** completions,
                                    rdmagpu_error* error) {
  return capi::create("rdmagpu_cuda_completions_create", completions, error,
                      [&] { return CudaCompletions::make(slotCount); });
}

void rdmagpu_cuda_completions_destroy(rdmagpu_cuda_completions* completions) { delete completions; }

int rdmagpu_cuda_after_stream(rdmagpu_cuda_completions* completions, uint32_t slot, void* stream,
                              rdmagpu_completion* completion, rdmagpu_error* error) {
  return after("rdmagpu_cuda_after_stream", completions, slot, CudaStream{stream}, completion, error);
}

int rdmagpu_cuda_after_event(rdmagpu_cuda_completions* completions, uint32_t slot, void* event,
                             rdmagpu_completion* completion, rdmagpu_error* error) {
  return after("rdmagpu_cuda_after_event", completions, slot, CudaEvent{event}, completion, error);
}

} // extern "C"
