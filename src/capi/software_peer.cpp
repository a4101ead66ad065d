#include <capi/call.hpp>
#include <capi/objects.hpp>

#include <vector>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(Misbehaviour::Migrate) == RDMAGPU_MISBEHAVE_MIGRATE);

class CallbackSource final : public FrameSource {
public:
  explicit CallbackSource(const rdmagpu_frame_source& source) noexcept : m_source(source) {}
  std::span<const std::byte> next() override {
    std::size_t size = 0;
    const void* bytes = m_source.next(m_source.context, &size);
    return {static_cast<const std::byte*>(bytes), bytes ? size : 0};
  }
  std::size_t framesKept() const noexcept override { return m_source.frames_kept; }

private:
  rdmagpu_frame_source m_source;
};

class CallbackSink final : public FrameSink {
public:
  explicit CallbackSink(const rdmagpu_frame_sink& sink) noexcept : m_sink(sink) {}
  bool frame(std::uint64_t sequence, std::uint32_t slot, std::span<const std::byte> bytes) override {
    return m_sink.frame(m_sink.context, sequence, slot, bytes.data(), bytes.size());
  }

private:
  rdmagpu_frame_sink m_sink;
};

Result<PeerSlot> fromC(const rdmagpu_peer_slot& c) noexcept {
  if(const auto good = capi::checkBits("rdmagpu_peer_slot::reserved", c.reserved, 0); !good)
    return good.error();
  const auto handoff = capi::handoff("rdmagpu_peer_slot::kind", c.kind, c.handoff);
  if(!handoff)
    return handoff.error();
  return PeerSlot{*handoff, c.size};
}

/// What it says of no slot, or of one that is none, is a slot without memory: the peer ends, and says so.
std::function<PeerSlot(std::uint32_t)> slotNow(const rdmagpu_software_peer_config& c) {
  if(!c.slot_now)
    return {};
  return [ask = c.slot_now, context = c.context](std::uint32_t slot) {
    rdmagpu_peer_slot now{};
    if(!ask(context, slot, &now))
      return PeerSlot{};
    const auto known = fromC(now);
    return known ? *known : PeerSlot{};
  };
}

Result<SoftwarePeer> make(const char* call, const rdmagpu_software_peer_config* from) {
  const auto c = capi::read(call, from);
  if(!c)
    return c.error();
  if(const auto good = capi::checkBits("rdmagpu_software_peer_config::reserved", c->reserved, 0); !good)
    return good.error();
  const auto misbehaviour =
      capi::value("rdmagpu_software_peer_config::misbehaviour", c->misbehaviour, Misbehaviour::Migrate);
  if(!misbehaviour)
    return misbehaviour.error();
  if(c->slot_count != 0 && !c->slots)
    return libraryError("rdmagpu_software_peer_config::slots", LibraryCode::PointerNull);
  std::vector<PeerSlot> slots;
  for(uint32_t i = 0; i < c->slot_count; ++i) {
    const auto slot = fromC(c->slots[i]);
    if(!slot)
      return slot.error();
    slots.push_back(*slot);
  }
  return SoftwarePeer::make({.slots = slots,
                             .rate = {c->rate_numerator, c->rate_denominator == 0 ? 1 : c->rate_denominator},
                             .misbehaviour = *misbehaviour,
                             .misbehaveAt = c->misbehave_at,
                             .sliceBytes = c->slice_bytes,
                             .copyThrough = c->copy_through ? &c->copy_through->value : nullptr,
                             .slotNow = slotNow(*c)});
}

/// The callbacks' object lies where the peer's thread finds it until the next start.
template <class Callbacks, class Struct, class Kept, class Start>
Result<void> start(const Struct& from, std::unique_ptr<Kept>& kept, Start begin) {
  auto callbacks = std::make_unique<Callbacks>(from);
  if(const auto started = begin(*callbacks); !started)
    return started;
  kept = std::move(callbacks);
  return {};
}

} // namespace

extern "C" {

int rdmagpu_software_peer_create(const rdmagpu_software_peer_config* config, rdmagpu_software_peer** peer,
                                 rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_software_peer_create";
  return capi::create(call, peer, error, [&] { return make(call, config); });
}

void rdmagpu_software_peer_destroy(rdmagpu_software_peer* peer) { delete peer; }

int rdmagpu_software_peer_start_capture(rdmagpu_software_peer* peer, rdmagpu_ring* ring,
                                        const rdmagpu_frame_source* source, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_software_peer_start_capture";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, peer, ring); !given)
      return given;
    const auto c = capi::read(call, source);
    if(!c)
      return c.error();
    if(!c->next)
      return libraryError("rdmagpu_frame_source::next", LibraryCode::PointerNull);
    return start<CallbackSource>(*c, peer->source, [&](CallbackSource& callbacks) {
      return peer->value.startCapture(ring->value, callbacks);
    });
  });
}

int rdmagpu_software_peer_start_playout(rdmagpu_software_peer* peer, rdmagpu_ring* ring,
                                        const rdmagpu_frame_sink* sink, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_software_peer_start_playout";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, peer, ring); !given)
      return given;
    const auto c = capi::read(call, sink);
    if(!c)
      return c.error();
    if(const auto good = capi::checkBits("rdmagpu_frame_sink::reserved", c->reserved, 0); !good)
      return good;
    if(!c->frame)
      return libraryError("rdmagpu_frame_sink::frame", LibraryCode::PointerNull);
    return start<CallbackSink>(*c, peer->sink, [&](CallbackSink& callbacks) {
      return peer->value.startPlayout(ring->value, callbacks);
    });
  });
}

void rdmagpu_software_peer_stop(rdmagpu_software_peer* peer) {
  if(peer)
    peer->value.stop();
}

void rdmagpu_software_peer_wait(rdmagpu_software_peer* peer) {
  if(peer)
    peer->value.wait();
}

int rdmagpu_software_peer_counters_of(const rdmagpu_software_peer* peer, rdmagpu_peer_counters* counters,
                                      rdmagpu_error* failure, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_software_peer_counters_of";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, peer); !given)
      return given;
    const PeerCounters now = peer->value.counters();
    if(failure) {
      if(const auto told = capi::write(call, capi::toC(now.error), failure); !told)
        return told;
    }
    return capi::write(call,
                       rdmagpu_peer_counters{.struct_size = 0,
                                             .finished = now.finished ? 1U : 0U,
                                             .frames = now.frames,
                                             .bytes = now.bytes,
                                             .missed = now.missed},
                       counters);
  });
}

int rdmagpu_software_peer_write(const rdmagpu_software_peer* peer, uint32_t slot, uint64_t offset,
                                const void* from, size_t bytes, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_software_peer_write";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes(call, peer, from, bytes); !given)
      return given;
    return peer->value.write(slot, offset, capi::bytesAt(from, bytes));
  });
}

int rdmagpu_software_peer_read(const rdmagpu_software_peer* peer, uint32_t slot, uint64_t offset, void* to,
                               size_t bytes, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_software_peer_read";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes(call, peer, to, bytes); !given)
      return given;
    return peer->value.read(slot, offset, capi::bytesAt(to, bytes));
  });
}

} // extern "C"
