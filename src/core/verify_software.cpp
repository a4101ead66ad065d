#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/verify.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/verify.hpp>

#include <utility>
#include <vector>

namespace rdmagpu {
namespace {

constexpr const char* softwareName = "software";

class VerifyingSoftwarePeer final : public Peer {
public:
  explicit VerifyingSoftwarePeer(SoftwarePeer card) noexcept : m_card(std::move(card)) {}

  const char* name() const noexcept override { return softwareName; }
  Agent agent() const noexcept override { return Agent::Software; }
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override {
    return m_card.write(slot, 0, bytes);
  }
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override {
    return m_card.read(slot, 0, bytes);
  }

private:
  SoftwarePeer m_card;
};

Result<SoftwarePeer> cardFor(const RdmaGpuBuffer& buffer) {
  std::vector<PeerSlot> slots;
  slots.reserve(buffer.slotCount());
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    slots.push_back({buffer.handoff(i), buffer.slot(i).size});
  return SoftwarePeer::make({.slots = slots});
}

} // namespace

Result<VerifyReport> verify(const RdmaGpuBuffer& buffer, const VerifyOptions& options) {
  constexpr const char* call = "verify";
  return guarded(call, [&]() -> Result<VerifyReport> {
    if(!buffer.valid())
      return libraryError(call, LibraryCode::BufferEmpty);
    auto card = cardFor(buffer);
    if(!card && card.error().kind == Errc::Unsupported) {
      VerifyReport report = core::untriedReport(buffer, softwareName);
      report.writeError = report.readError = card.error();
      return report;
    }
    if(!card)
      return card.error();
    VerifyingSoftwarePeer peer{*std::move(card)};
    return verify(buffer, peer, options);
  });
}

} // namespace rdmagpu
