#pragma once
#include <contract/cuda_driver.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace rdmagpu::test {

/// The primary context of a GPU, retained; made current where a test wants it.
class PrimaryOf {
public:
  explicit PrimaryOf(int ordinal) : m_device(static_cast<api::Device>(ordinal)) {
    EXPECT_EQ(m_cuda.functions.primaryCtxRetain(&m_context, m_device), api::Status::Success);
  }
  PrimaryOf(PrimaryOf&&) = delete;
  ~PrimaryOf() { EXPECT_EQ(m_cuda.functions.primaryCtxRelease(m_device), api::Status::Success); }

  api::Context get() const noexcept { return m_context; }

private:
  const CudaDriver& m_cuda = CudaDriver::instance();
  api::Device m_device;
  api::Context m_context{};
};

/// A context that is current while it lives.
class CurrentContext {
public:
  explicit CurrentContext(api::Context context) {
    EXPECT_EQ(m_cuda.functions.ctxPushCurrent(context), api::Status::Success);
  }
  CurrentContext(CurrentContext&&) = delete;
  ~CurrentContext() {
    api::Context popped{};
    EXPECT_EQ(m_cuda.functions.ctxPopCurrent(&popped), api::Status::Success);
  }

private:
  const CudaDriver& m_cuda = CudaDriver::instance();
};

/// Host memory that the copy engine reaches by itself: copies of it return before they are done.
class PinnedBytes {
public:
  explicit PinnedBytes(std::size_t bytes, int value = 0)
      : m_bytes(bytes, static_cast<std::byte>(value)), m_primary(0) {
    const CurrentContext current{m_primary.get()};
    EXPECT_EQ(m_cuda.functions.memHostRegister(m_bytes.data(), bytes, api::HostRegisterFlags::Portable),
              api::Status::Success);
  }
  PinnedBytes(PinnedBytes&&) = delete;
  ~PinnedBytes() {
    const CurrentContext current{m_primary.get()};
    EXPECT_EQ(m_cuda.functions.memHostUnregister(m_bytes.data()), api::Status::Success);
  }

  std::span<std::byte> span() noexcept { return m_bytes; }
  const std::vector<std::byte>& bytes() const noexcept { return m_bytes; }

private:
  const CudaDriver& m_cuda = CudaDriver::instance();
  std::vector<std::byte> m_bytes;
  PrimaryOf m_primary;
};

/// A stream of the caller's own, in a context that is current now.
class CallersStream {
public:
  CallersStream() {
    EXPECT_EQ(m_cuda.functions.streamCreate(&m_stream, api::StreamFlags::NonBlocking), api::Status::Success);
  }
  CallersStream(CallersStream&&) = delete;
  ~CallersStream() { EXPECT_EQ(m_cuda.functions.streamDestroy(m_stream), api::Status::Success); }

  api::Stream get() const noexcept { return m_stream; }

private:
  const CudaDriver& m_cuda = CudaDriver::instance();
  api::Stream m_stream{};
};

} // namespace rdmagpu::test
