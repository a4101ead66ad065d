#pragma once
#include <rdmagpu/rdmagpu.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rdmagpu::capitest {

struct Destroy {
  void operator()(rdmagpu_buffer* object) const noexcept { rdmagpu_buffer_destroy(object); }
  void operator()(rdmagpu_dma_buf* object) const noexcept { rdmagpu_dma_buf_destroy(object); }
  void operator()(rdmagpu_shared* object) const noexcept { rdmagpu_shared_destroy(object); }
  void operator()(rdmagpu_staged* object) const noexcept { rdmagpu_staged_destroy(object); }
  void operator()(rdmagpu_cuda_completions* object) const noexcept {
    rdmagpu_cuda_completions_destroy(object);
  }
  void operator()(rdmagpu_software_peer* object) const noexcept { rdmagpu_software_peer_destroy(object); }
  void operator()(rdmagpu_block_peer* object) const noexcept { rdmagpu_block_peer_destroy(object); }
  void operator()(rdmagpu_registration* object) const noexcept { rdmagpu_registration_destroy(object); }
  void operator()(rdmagpu_memory* object) const noexcept { rdmagpu_memory_destroy(object); }
  void operator()(rdmagpu_ring* object) const noexcept { rdmagpu_ring_destroy(object); }
  void operator()(rdmagpu_copy_queue* object) const noexcept { rdmagpu_copy_queue_destroy(object); }
  void operator()(rdmagpu_diagnosis* object) const noexcept { rdmagpu_diagnosis_destroy(object); }
  void operator()(rdmagpu_explanations* object) const noexcept { rdmagpu_explanations_destroy(object); }
  void operator()(rdmagpu_report* object) const noexcept { rdmagpu_report_destroy(object); }
  void operator()(rdmagpu_backends* object) const noexcept { rdmagpu_backends_destroy(object); }
  void operator()(rdmagpu_frame_proof* object) const noexcept { rdmagpu_frame_proof_destroy(object); }
  void operator()(rdmagpu_keep_alive* object) const noexcept { rdmagpu_keep_alive_release(object); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Destroy>;

inline rdmagpu_config hostConfig(uint32_t slots = 3, uint64_t bytes = 100'000) {
  rdmagpu_config config = RDMAGPU_INIT(rdmagpu_config);
  config.api = RDMAGPU_API_HOST;
  config.slot_count = slots;
  config.frame_bytes = bytes;
  config.page_lock = RDMAGPU_PAGE_LOCK_OFF;
  return config;
}

inline Owned<rdmagpu_buffer> makeBuffer(const rdmagpu_config& config = hostConfig()) {
  rdmagpu_buffer* buffer = nullptr;
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  EXPECT_EQ(rdmagpu_buffer_create(&config, &buffer, &error), RDMAGPU_OK);
  EXPECT_EQ(error.kind, RDMAGPU_OK);
  return Owned<rdmagpu_buffer>{buffer};
}

inline std::string messageOf(const rdmagpu_error& error) {
  std::string text(rdmagpu_error_message(&error, nullptr, 0), '\0');
  rdmagpu_error_message(&error, text.data(), text.size() + 1);
  return text;
}

/// A call that must fail: its Error, once the number that it returned was compared.
template <class Call>
rdmagpu_error failureOf(Call call) {
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  const int kind = call(&error);
  EXPECT_NE(kind, RDMAGPU_OK);
  EXPECT_EQ(kind, error.kind);
  EXPECT_EQ(call(nullptr), kind); // nobody need ask
  return error;
}

} // namespace rdmagpu::capitest
