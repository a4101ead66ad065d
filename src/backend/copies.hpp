#pragma once
#include <rdmagpu/cuda_handles.hpp>
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rdmagpu::backend {

struct CopiesRequest {
  std::uint32_t lanes{1}; ///< At least one; one if a stream is given.
  std::uint32_t marks{1};
  std::optional<CudaStream> stream{}; ///< The caller's, to be the only lane.
};

/// Copies into and out of one region that go on by themselves. Those in one lane are done one after the
/// other, those of several lanes side by side. A mark tells when what its lane had been given is done; it is
/// set anew by each copy that names it, and is done when it was never set. Offsets are in range.
///
/// Calls that start something come from one thread at a time, the others from any.
class Copies {
public:
  /// Waits for what is under way. The region goes after it.
  virtual ~Copies() = default;

  /// An error means that nothing is under way.
  virtual Result<void> upload(std::uint32_t lane, std::uint32_t mark, std::size_t offset,
                              std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::uint32_t lane, std::uint32_t mark, std::size_t offset,
                                std::span<std::byte> to) = 0;
  virtual Result<bool> isDone(std::uint32_t mark) const noexcept = 0;
  virtual Result<void> wait(std::uint32_t mark) const noexcept = 0;
  /// For when a mark could not be asked: waits, without any, for all that is under way. A failure goes to the
  /// log sink.
  virtual void settle() const noexcept {}
};

} // namespace rdmagpu::backend
