#pragma once
#include <cstddef>
#include <memory>
#include <new>

namespace rdmagpu::cli {

/// Memory for one frame, on a page's boundary as a card's own would be. Not cleared.
class FrameMemory {
public:
  explicit FrameMemory(std::size_t bytes)
      : m_data(static_cast<std::byte*>(::operator new(bytes, alignment))) {}

  std::byte* data() const noexcept { return m_data.get(); }

private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, alignment); }
  };
  std::unique_ptr<std::byte, Free> m_data;
};

} // namespace rdmagpu::cli
