#include "capi_support.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

namespace rdmagpu::capitest {
namespace {

/// An SDK that pins by address, and moves bytes with the CPU.
struct Sdk {
  std::vector<std::uint64_t> pinned; ///< The keys, in order; each is the address.
  unsigned quiesced{};
  std::int32_t refusesSlot = -1;
  bool keeps{};

  rdmagpu_registrar registrar() {
    rdmagpu_registrar made = RDMAGPU_INIT(rdmagpu_registrar);
    made.name = "sdk";
    made.context = this;
    made.pin = [](void* context, const rdmagpu_pin_view* view, std::uint64_t* key, rdmagpu_error* error) {
      auto& self = *static_cast<Sdk*>(context);
      EXPECT_EQ(view->struct_size, sizeof *view);
      EXPECT_EQ(view->dma_buf, -1);
      if(self.refusesSlot == static_cast<std::int32_t>(view->slot)) {
        error->code = ENOMEM;
        error->call = "sdk_pin";
        return static_cast<int>(RDMAGPU_OUT_OF_MEMORY);
      }
      self.pinned.push_back(view->handoff);
      *key = view->handoff;
      return static_cast<int>(RDMAGPU_OK);
    };
    made.unpin = [](void* context, const rdmagpu_pin_view* view, std::uint64_t key, rdmagpu_error*) {
      auto& self = *static_cast<Sdk*>(context);
      EXPECT_EQ(key, view->handoff);
      if(self.keeps)
        return static_cast<int>(RDMAGPU_BUSY);
      EXPECT_EQ(self.pinned.back(), key); // the last one first
      self.pinned.pop_back();
      return static_cast<int>(RDMAGPU_OK);
    };
    made.quiesce = [](void* context, rdmagpu_error*) {
      ++static_cast<Sdk*>(context)->quiesced;
      return static_cast<int>(RDMAGPU_OK);
    };
    made.write = [](void*, const rdmagpu_pinned_slot* slot, const void* bytes, std::size_t size,
                    rdmagpu_error*) {
      std::memcpy(rdmagpu_handoff_cpu_address(slot->handoff_kind, slot->key + slot->offset), bytes, size);
      return static_cast<int>(RDMAGPU_OK);
    };
    made.read = [](void*, const rdmagpu_pinned_slot* slot, void* bytes, std::size_t size, rdmagpu_error*) {
      std::memcpy(bytes, rdmagpu_handoff_cpu_address(slot->handoff_kind, slot->key + slot->offset), size);
      return static_cast<int>(RDMAGPU_OK);
    };
    return made;
  }
};

class CapiRegistrar : public testing::Test {
protected:
  Owned<rdmagpu_buffer> buffer = makeBuffer();
  Sdk sdk;
  rdmagpu_registrar registrar = sdk.registrar();
  rdmagpu_registration* registration = nullptr;

  void TearDown() override { rdmagpu_registration_destroy(registration); }
  int create(rdmagpu_error* error = nullptr) {
    return rdmagpu_registration_create(buffer.get(), &registrar, &registration, error);
  }
  const char* refusedField() {
    return failureOf([&](rdmagpu_error* e) { return create(e); }).call;
  }
};

TEST_F(CapiRegistrar, PinsEachSlotAndUnpinsAll) {
  ASSERT_EQ(create(), RDMAGPU_OK);
  EXPECT_EQ(rdmagpu_registration_slot_count(registration), 3U);
  rdmagpu_slot slot = RDMAGPU_INIT(rdmagpu_slot);
  rdmagpu_pinned_slot pinned = RDMAGPU_INIT(rdmagpu_pinned_slot);
  for(std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(rdmagpu_buffer_slot(buffer.get(), i, &slot, nullptr), RDMAGPU_OK);
    ASSERT_EQ(rdmagpu_registration_slot(registration, i, &pinned, nullptr), RDMAGPU_OK);
    EXPECT_EQ(pinned.handoff, slot.handoff);
    EXPECT_EQ(pinned.bytes, slot.size);
    EXPECT_EQ(pinned.key, sdk.pinned[i]);
    EXPECT_EQ(pinned.offset, 0U);
    ASSERT_EQ(rdmagpu_registration_slot_of(registration, slot.handoff_kind, slot.handoff, &pinned, nullptr),
              RDMAGPU_OK);
    EXPECT_EQ(pinned.slot, i);
  }
  ASSERT_EQ(rdmagpu_registration_slot_of(registration, slot.handoff_kind, 64, &pinned, nullptr), RDMAGPU_OK);
  EXPECT_EQ(pinned.bytes, 0U);
  ASSERT_EQ(rdmagpu_registration_release(registration, nullptr), RDMAGPU_OK);
  EXPECT_EQ(rdmagpu_registration_slot_count(registration), 0U);
  EXPECT_EQ(sdk.pinned.size(), 0U);
  EXPECT_EQ(sdk.quiesced, 1U);
}

TEST_F(CapiRegistrar, ARegionIsPinnedInOnePiece) {
  registrar.unit = RDMAGPU_PIN_REGION;
  registrar.flags = RDMAGPU_PIN_VERIFY;
  rdmagpu_verify_options options = RDMAGPU_INIT(rdmagpu_verify_options);
  options.bytes = 4096;
  registrar.verify_options = &options;
  ASSERT_EQ(create(), RDMAGPU_OK);
  EXPECT_EQ(sdk.pinned.size(), 1U);
  rdmagpu_pinned_slot pinned = RDMAGPU_INIT(rdmagpu_pinned_slot);
  ASSERT_EQ(rdmagpu_registration_slot(registration, 2, &pinned, nullptr), RDMAGPU_OK);
  EXPECT_EQ(pinned.offset, 2 * 131072U);
  rdmagpu_proof proof = RDMAGPU_INIT(rdmagpu_proof);
  ASSERT_EQ(rdmagpu_registration_proof(registration, &proof, nullptr), RDMAGPU_OK);
  EXPECT_EQ(proof.registered, RDMAGPU_YES);
  EXPECT_EQ(proof.written, RDMAGPU_YES);
  EXPECT_EQ(proof.by, RDMAGPU_AGENT_SOFTWARE);
}

TEST_F(CapiRegistrar, ItsOwnTransfersProveIt) {
  ASSERT_EQ(create(), RDMAGPU_OK);
  rdmagpu_report* made = nullptr;
  ASSERT_EQ(rdmagpu_registration_verify(registration, buffer.get(), nullptr, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_report> report{made};
  rdmagpu_report_facts facts = RDMAGPU_INIT(rdmagpu_report_facts);
  ASSERT_EQ(rdmagpu_report_facts_of(made, &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.write, RDMAGPU_YES);
  EXPECT_EQ(facts.read, RDMAGPU_YES);
  EXPECT_STREQ(facts.peer, "sdk");
  const auto other = makeBuffer();
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_registration_verify(registration, other.get(), nullptr, &made, e);
               }).code_name,
               "PeerNotPinned");
}

TEST_F(CapiRegistrar, ARefusedSlotUndoesThoseBeforeIt) {
  sdk.refusesSlot = 2;
  const rdmagpu_error error = failureOf([&](rdmagpu_error* e) { return create(e); });
  EXPECT_EQ(error.kind, RDMAGPU_OUT_OF_MEMORY);
  EXPECT_EQ(error.code, ENOMEM);
  EXPECT_EQ(error.slot, 2);
  EXPECT_STREQ(error.call, "sdk_pin");
  EXPECT_EQ(registration, nullptr);
  EXPECT_TRUE(sdk.pinned.empty());
}

TEST_F(CapiRegistrar, WhatIsNotLetGoCanBeTriedAgain) {
  ASSERT_EQ(create(), RDMAGPU_OK);
  sdk.keeps = true;
  const rdmagpu_error error =
      failureOf([&](rdmagpu_error* e) { return rdmagpu_registration_release(registration, e); });
  EXPECT_EQ(error.kind, RDMAGPU_BUSY);
  EXPECT_STREQ(error.call, "rdmagpu_registrar::unpin");
  EXPECT_EQ(rdmagpu_registration_slot_count(registration), 3U);
  sdk.keeps = false;
  EXPECT_EQ(rdmagpu_registration_release(registration, nullptr), RDMAGPU_OK);
}

TEST_F(CapiRegistrar, PinsWhatAStagedBuffersPeerGets) {
  rdmagpu_config slots = hostConfig();
  rdmagpu_staged_config config = RDMAGPU_INIT(rdmagpu_staged_config);
  config.buffer = &slots;
  rdmagpu_staged* made = nullptr;
  ASSERT_EQ(rdmagpu_staged_create(&config, &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_staged> staged{made};
  ASSERT_EQ(rdmagpu_registration_create_staged(made, &registrar, &registration, nullptr), RDMAGPU_OK);
  std::int32_t kind{};
  std::uint64_t handoff{};
  ASSERT_EQ(rdmagpu_staged_handoff(made, 1, &kind, &handoff, nullptr), RDMAGPU_OK);
  rdmagpu_pinned_slot pinned = RDMAGPU_INIT(rdmagpu_pinned_slot);
  ASSERT_EQ(rdmagpu_registration_slot_of(registration, kind, handoff, &pinned, nullptr), RDMAGPU_OK);
  EXPECT_EQ(pinned.slot, 1U);
  EXPECT_NE(pinned.bytes, 0U);
}

TEST_F(CapiRegistrar, LimitsArrive) {
  registrar.max_bytes = 65536;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(e); }).code_name, "PeerPinTooLarge");
  registrar.max_bytes = 0;
  registrar.max_total_bytes = 65536;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(e); }).code_name, "PeerPinsTooLarge");
  registrar.max_total_bytes = 0;
  registrar.alignment = 1 << 30;
  EXPECT_NE(create(), RDMAGPU_OK);
  registrar.alignment = 0;
  registrar.accepts = RDMAGPU_ACCEPTS(RDMAGPU_HANDOFF_CUDA_POINTER);
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(e); }).code_name, "PeerCannotAddress");
}

TEST_F(CapiRegistrar, BadMembersAreRefusedByName) {
  registrar.unit = 2;
  EXPECT_STREQ(refusedField(), "rdmagpu_registrar::unit");
  registrar.unit = 0;
  registrar.agent = -1;
  EXPECT_STREQ(refusedField(), "rdmagpu_registrar::agent");
  registrar.agent = 0;
  registrar.flags = 4;
  EXPECT_STREQ(refusedField(), "rdmagpu_registrar::flags");
  registrar.flags = 0;
  registrar.accepts = 1;
  EXPECT_STREQ(refusedField(), "rdmagpu_registrar::accepts");
  registrar.accepts = 0;
  registrar.reserved = 1;
  EXPECT_STREQ(refusedField(), "rdmagpu_registrar::reserved");
  registrar.reserved = 0;
  registrar.unpin = nullptr;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return create(e); }).code_name, "RegistrarIncomplete");
  EXPECT_EQ(registration, nullptr);
}

TEST_F(CapiRegistrar, NullIsRefused) {
  rdmagpu_pinned_slot pinned = RDMAGPU_INIT(rdmagpu_pinned_slot);
  rdmagpu_proof proof = RDMAGPU_INIT(rdmagpu_proof);
  rdmagpu_report* report = nullptr;
  const auto null = [](auto call) { EXPECT_STREQ(failureOf(call).code_name, "PointerNull"); };
  null([&](rdmagpu_error* e) { return rdmagpu_registration_create(nullptr, &registrar, &registration, e); });
  null(
      [&](rdmagpu_error* e) { return rdmagpu_registration_create(buffer.get(), nullptr, &registration, e); });
  null([&](rdmagpu_error* e) {
    return rdmagpu_registration_create_staged(nullptr, &registrar, &registration, e);
  });
  null([&](rdmagpu_error* e) { return rdmagpu_registration_release(nullptr, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_registration_slot(nullptr, 0, &pinned, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_registration_slot_of(nullptr, 1, 1, &pinned, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_registration_proof(nullptr, &proof, e); });
  null([&](rdmagpu_error* e) {
    return rdmagpu_registration_verify(nullptr, buffer.get(), nullptr, &report, e);
  });
  EXPECT_EQ(rdmagpu_registration_slot_count(nullptr), 0U);
  ASSERT_EQ(create(), RDMAGPU_OK);
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_registration_slot(registration, 3, &pinned, e);
               }).code_name,
               "SlotOutOfRange");
  EXPECT_EQ(rdmagpu_registration_slot_of(registration, 99, 1, &pinned, nullptr), RDMAGPU_INVALID_ARGUMENT);
}

} // namespace
} // namespace rdmagpu::capitest
