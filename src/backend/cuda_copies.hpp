#pragma once
#include <backend/copies.hpp>
#include <backend/cuda_context.hpp>
#include <base/unique.hpp>

#include <memory>
#include <vector>

namespace rdmagpu::backend::cuda {

struct StreamTraits {
  using Type = api::Stream;
  static constexpr Type empty() noexcept { return nullptr; }
  static void close(Type) noexcept;
};

struct EventTraits {
  using Type = api::Event;
  static constexpr Type empty() noexcept { return nullptr; }
  static void close(Type) noexcept;
};
using OwnedEvent = Unique<EventTraits>;

/// An event of the current context, without a time.
Result<OwnedEvent> makeEvent() noexcept;

/// Whether what it was recorded behind is done. Asked in that context, or in any if it is null.
Result<bool> isEventDone(const KnownContext&, api::Event) noexcept;

/// The context that a stream belongs to; null for a default stream, which is one of any context.
Result<KnownContext> contextOf(api::Stream) noexcept;

/// Copies of one region: its lanes are streams, its marks events.
class CudaCopies final : public Copies {
public:
  /// The region keeps `contexts` and the memory at `base`, and outlives what is returned.
  static Result<std::unique_ptr<Copies>> open(const ContextSource& contexts, api::Device, api::DevicePtr base,
                                              const CopiesRequest&);

  /// Has room for the lanes and marks of the request, which open() makes.
  CudaCopies(const KnownContext&, api::DevicePtr base, const CopiesRequest&);
  CudaCopies(CudaCopies&&) = delete;
  ~CudaCopies() override;

  Result<void> upload(std::uint32_t lane, std::uint32_t mark, std::size_t offset,
                      std::span<const std::byte> from) override;
  Result<void> download(std::uint32_t lane, std::uint32_t mark, std::size_t offset,
                        std::span<std::byte> to) override;
  Result<bool> isDone(std::uint32_t mark) const noexcept override;
  Result<void> wait(std::uint32_t mark) const noexcept override;
  void settle() const noexcept override;

private:
  Result<void> prepare(const CopiesRequest&) noexcept;
  Result<void> mark(std::uint32_t lane, std::uint32_t mark) const noexcept;

  KnownContext m_context;
  api::DevicePtr m_base;
  std::vector<Unique<StreamTraits>> m_own;
  std::vector<api::Stream> m_lanes;
  std::vector<OwnedEvent> m_marks;
};

} // namespace rdmagpu::backend::cuda
