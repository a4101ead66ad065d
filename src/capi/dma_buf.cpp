#include <capi/call.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

extern "C" {

int rdmagpu_buffer_export_region(const rdmagpu_buffer* buffer, rdmagpu_dma_buf** exported,
                                 rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_buffer_export_region";
  return capi::create(call, exported, error, [&]() -> Result<DmaBuf> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    return buffer->value.exportRegion();
  });
}

int rdmagpu_buffer_export_slot(const rdmagpu_buffer* buffer, uint32_t slot, rdmagpu_dma_buf** exported,
                               rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_buffer_export_slot";
  return capi::create(call, exported, error, [&]() -> Result<DmaBuf> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    return buffer->value.exportSlot(slot);
  });
}

int rdmagpu_dma_buf_facts_of(const rdmagpu_dma_buf* exported, rdmagpu_dma_buf_facts* facts,
                             rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_dma_buf_facts_of";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, exported); !given)
      return given;
    const DmaBuf& value = exported->value;
    return capi::write(call,
                       rdmagpu_dma_buf_facts{.struct_size = 0,
                                             .fd = value.fd(),
                                             .offset = value.offset(),
                                             .size = value.size(),
                                             .pcie_mapped = value.pcieMapped() ? 1U : 0U,
                                             .reserved = 0},
                       facts);
  });
}

int rdmagpu_dma_buf_pcie_reason(const rdmagpu_dma_buf* exported, rdmagpu_error* reason,
                                rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_dma_buf_pcie_reason";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, exported); !given)
      return given;
    return capi::write(call, capi::toC(exported->value.pcieError()), reason);
  });
}

int rdmagpu_dma_buf_release(rdmagpu_dma_buf* exported) { return exported ? exported->value.release() : -1; }

void rdmagpu_dma_buf_destroy(rdmagpu_dma_buf* exported) { delete exported; }

} // extern "C"
