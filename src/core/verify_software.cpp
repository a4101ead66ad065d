#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/verify.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/verify.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace rdmagpu {
namespace {

constexpr const char* softwareName = "software";

class VerifyingSoftwarePeer final : public Peer {
public:
  VerifyingSoftwarePeer(SoftwarePeer card, Agent agent) noexcept : m_card(std::move(card)), m_agent(agent) {}

  const char* name() const noexcept override { return softwareName; }
  Agent agent() const noexcept override { return m_agent; }
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override {
    return m_card.write(slot, 0, bytes);
  }
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override {
    return m_card.read(slot, 0, bytes);
  }

private:
  SoftwarePeer m_card;
  Agent m_agent;
};

Result<SoftwarePeer> cardFor(const RdmaGpuBuffer& buffer, CopyQueue* queue) {
  std::vector<PeerSlot> slots;
  slots.reserve(buffer.slotCount());
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    slots.push_back({buffer.handoff(i), buffer.slot(i).size});
  return SoftwarePeer::make({.slots = slots, .copyThrough = queue});
}

bool isUnsupported(const Error& error) noexcept { return error.kind == Errc::Unsupported; }

} // namespace

Result<VerifyReport> verify(const RdmaGpuBuffer& buffer, const VerifyOptions& options) {
  constexpr const char* call = "verify";
  return guarded(call, [&]() -> Result<VerifyReport> {
    if(!buffer.valid())
      return libraryError(call, LibraryCode::BufferEmpty);
    std::optional<CopyQueue> queue; // outlives the peer that copies through it
    auto card = cardFor(buffer, nullptr);
    if(!card && isUnsupported(card.error())) {
      auto made = CopyQueue::make(buffer);
      if(!made && isUnsupported(made.error())) {
        VerifyReport report = core::untriedReport(buffer, softwareName);
        report.writeError = report.readError = card.error();
        return report;
      }
      if(!made)
        return made.error();
      card = cardFor(buffer, &queue.emplace(*std::move(made)));
    }
    if(!card)
      return card.error();
    VerifyingSoftwarePeer peer{*std::move(card), queue ? Agent::CopyEngine : Agent::Software};
    return verify(buffer, peer, options);
  });
}

} // namespace rdmagpu
