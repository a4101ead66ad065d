#include <capi/call.hpp>
#include <capi/callback.hpp>
#include <capi/objects.hpp>
#include <capi/prove.hpp>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(peers::PinUnit::Region) == RDMAGPU_PIN_REGION);

rdmagpu_pin_view toC(const peers::PinView& view) noexcept {
  return {.struct_size = sizeof(rdmagpu_pin_view),
          .handoff_kind = static_cast<int32_t>(kind(view.handoff)),
          .handoff = addressBits(view.handoff),
          .bytes = view.bytes,
          .slot = view.slot,
          .slot_count = view.slotCount,
          .dma_buf = view.dmaBuf,
          .reserved = 0,
          .dma_buf_offset = view.dmaBufOffset};
}

rdmagpu_pinned_slot toC(const peers::PinnedSlot& slot) noexcept {
  return {.struct_size = sizeof(rdmagpu_pinned_slot),
          .handoff_kind = static_cast<int32_t>(kind(slot.handoff)),
          .handoff = addressBits(slot.handoff),
          .bytes = slot.bytes,
          .key = slot.key,
          .offset = slot.offset,
          .slot = slot.slot,
          .reserved = 0};
}

void setCallbacks(peers::Registrar& to, const rdmagpu_registrar& c) {
  if(c.pin) {
    to.pin = [c](const peers::PinView& view) -> Result<std::uint64_t> {
      const rdmagpu_pin_view seen = toC(view);
      std::uint64_t key = 0;
      if(const auto done = capi::ask("rdmagpu_registrar::pin", c.pin, c.context, &seen, &key); !done)
        return done.error();
      return key;
    };
  }
  if(c.unpin) {
    to.unpin = [c](const peers::PinView& view, std::uint64_t key) {
      const rdmagpu_pin_view seen = toC(view);
      return capi::ask("rdmagpu_registrar::unpin", c.unpin, c.context, &seen, key);
    };
  }
  if(c.quiesce)
    to.quiesce = [c] { return capi::ask("rdmagpu_registrar::quiesce", c.quiesce, c.context); };
  if(c.write) {
    to.write = [c](const peers::PinnedSlot& slot, std::span<const std::byte> bytes) {
      const rdmagpu_pinned_slot seen = toC(slot);
      const void* from = bytes.data();
      return capi::ask("rdmagpu_registrar::write", c.write, c.context, &seen, from, bytes.size());
    };
  }
  if(c.read) {
    to.read = [c](const peers::PinnedSlot& slot, std::span<std::byte> bytes) {
      const rdmagpu_pinned_slot seen = toC(slot);
      void* into = bytes.data();
      return capi::ask("rdmagpu_registrar::read", c.read, c.context, &seen, into, bytes.size());
    };
  }
}

Result<peers::Registrar> readRegistrar(const char* call, const rdmagpu_registrar* from) {
  const auto c = capi::read(call, from);
  if(!c)
    return c.error();
  constexpr std::uint32_t flags = RDMAGPU_PIN_MEM_ALLOC_ONLY | RDMAGPU_PIN_VERIFY;
  if(const auto good = capi::checkBits("rdmagpu_registrar::flags", c->flags, flags); !good)
    return good.error();
  if(const auto good = capi::checkBits("rdmagpu_registrar::reserved", c->reserved, 0); !good)
    return good.error();
  const auto unit = capi::value("rdmagpu_registrar::unit", c->unit, peers::PinUnit::Region);
  if(!unit)
    return unit.error();
  const auto agent = capi::value("rdmagpu_registrar::agent", c->agent, Agent::Device);
  if(!agent)
    return agent.error();
  const auto accepts = capi::readAccepts("rdmagpu_registrar::accepts", c->accepts);
  if(!accepts)
    return accepts.error();
  peers::Registrar registrar;
  if(c->name)
    registrar.name = c->name;
  registrar.limits = {.accepts = *accepts,
                      .alignment = c->alignment,
                      .maxBytes = c->max_bytes,
                      .maxTotalBytes = c->max_total_bytes,
                      .memAllocOnly = (c->flags & RDMAGPU_PIN_MEM_ALLOC_ONLY) != 0};
  registrar.unit = *unit;
  registrar.agent = *agent == Agent::None ? Agent::Software : *agent;
  if((c->flags & RDMAGPU_PIN_VERIFY) != 0) {
    const auto options = capi::readVerifyOptions(call, c->verify_options);
    if(!options)
      return options.error();
    registrar.verify = *options;
  }
  setCallbacks(registrar, *c);
  return registrar;
}

template <class Memory>
int create(const char* call, const Memory* memory, const rdmagpu_registrar* from,
           rdmagpu_registration** registration, rdmagpu_error* error) noexcept {
  return capi::create(call, registration, error, [&]() -> Result<peers::PeerRegistration> {
    if(const auto given = capi::checkPointers(call, memory); !given)
      return given.error();
    auto registrar = readRegistrar(call, from);
    if(!registrar)
      return registrar.error();
    return peers::PeerRegistration::make(memory->value, *std::move(registrar));
  });
}

} // namespace

extern "C" {

int rdmagpu_registration_create(const rdmagpu_buffer* buffer, const rdmagpu_registrar* registrar,
                                rdmagpu_registration** registration, rdmagpu_error* error) {
  return create("rdmagpu_registration_create", buffer, registrar, registration, error);
}

int rdmagpu_registration_create_staged(const rdmagpu_staged* staged, const rdmagpu_registrar* registrar,
                                       rdmagpu_registration** registration, rdmagpu_error* error) {
  return create("rdmagpu_registration_create_staged", staged, registrar, registration, error);
}

void rdmagpu_registration_destroy(rdmagpu_registration* registration) { delete registration; }

int rdmagpu_registration_release(rdmagpu_registration* registration, rdmagpu_error* error) {
  return capi::run("rdmagpu_registration_release", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_registration_release", registration); !given)
      return given;
    return registration->value.release();
  });
}

uint64_t rdmagpu_registration_slot_count(const rdmagpu_registration* registration) {
  return registration ? registration->value.slotCount() : 0;
}

int rdmagpu_registration_slot(const rdmagpu_registration* registration, uint64_t index,
                              rdmagpu_pinned_slot* slot, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_registration_slot";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, registration); !given)
      return given;
    if(const std::uint64_t count = registration->value.slotCount(); index >= count)
      return libraryError(call, LibraryCode::SlotOutOfRange, index, count);
    return capi::write(call, toC(registration->value.slot(index)), slot);
  });
}

int rdmagpu_registration_slot_of(const rdmagpu_registration* registration, int32_t kind, uint64_t bits,
                                 rdmagpu_pinned_slot* slot, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_registration_slot_of";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, registration); !given)
      return given;
    const auto handoff = capi::handoff(call, kind, bits);
    if(!handoff)
      return handoff.error();
    return capi::write(call, toC(registration->value.slot(*handoff)), slot);
  });
}

int rdmagpu_registration_verify(rdmagpu_registration* registration, const rdmagpu_buffer* buffer,
                                const rdmagpu_verify_options* options, rdmagpu_report** report,
                                rdmagpu_error* error) {
  return capi::prove("rdmagpu_registration_verify", registration, buffer, options, report, error,
                     [&](const RdmaGpuBuffer& slots, const VerifyOptions& wanted) {
                       return registration->value.verify(slots, wanted);
                     });
}

int rdmagpu_registration_proof(const rdmagpu_registration* registration, rdmagpu_proof* proof,
                               rdmagpu_error* error) {
  return capi::fill("rdmagpu_registration_proof", registration, proof, error,
                    [](const rdmagpu_registration& r) { return capi::toC(r.value.proof()); });
}

} // extern "C"
