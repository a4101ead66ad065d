#include "capi_support.hpp"

#include <peers/verbs/nic_standin.hpp>
#include <rdmagpu/rdmagpu_verbs.h>

#include <gmock/gmock.h>

#include <cstring>
#include <thread>
#include <vector>

namespace rdmagpu::capitest {
namespace {

struct DestroyVerbs {
  void operator()(rdmagpu_verbs_names* object) const noexcept { rdmagpu_verbs_names_destroy(object); }
  void operator()(rdmagpu_verbs_device* object) const noexcept { rdmagpu_verbs_device_destroy(object); }
  void operator()(rdmagpu_verbs_attempts* object) const noexcept { rdmagpu_verbs_attempts_destroy(object); }
  void operator()(rdmagpu_verbs_registration* object) const noexcept {
    rdmagpu_verbs_registration_destroy(object);
  }
  void operator()(rdmagpu_verbs_peer* object) const noexcept { rdmagpu_verbs_peer_destroy(object); }
  void operator()(rdmagpu_verbs_server* object) const noexcept { rdmagpu_verbs_server_destroy(object); }
};
template <class Object>
using OwnedVerbs = std::unique_ptr<Object, DestroyVerbs>;

class CapiVerbs : public testing::Test {
protected:
  void SetUp() override { nictest::reset(); }
  void TearDown() override {
    m_registration.reset();
    EXPECT_THAT(nictest::violations(), testing::IsEmpty());
    EXPECT_TRUE(nictest::live().empty());
    EXPECT_EQ(nictest::liveDevices(), 0U);
  }

  Owned<rdmagpu_buffer> buffer = makeBuffer();
  rdmagpu_verbs_options options = RDMAGPU_INIT(rdmagpu_verbs_options);

  int make(rdmagpu_error* error = nullptr) {
    rdmagpu_verbs_registration* made = nullptr;
    const int kind =
        rdmagpu_verbs_registration_create(nictest::domain(), buffer.get(), &options, &made, nullptr, error);
    m_registration.reset(made);
    return kind;
  }
  rdmagpu_verbs_registration* registration() {
    if(!m_registration) {
      EXPECT_EQ(make(), RDMAGPU_OK);
    }
    return m_registration.get();
  }
  static void expectProof(const rdmagpu_report* report) {
    rdmagpu_report_facts facts = RDMAGPU_INIT(rdmagpu_report_facts);
    ASSERT_EQ(rdmagpu_report_facts_of(report, &facts, nullptr), RDMAGPU_OK);
    EXPECT_EQ(facts.write, RDMAGPU_YES);
    EXPECT_EQ(facts.read, RDMAGPU_YES);
    EXPECT_STREQ(facts.peer, "verbs:nic0");
  }

private:
  OwnedVerbs<rdmagpu_verbs_registration> m_registration;
};

TEST_F(CapiVerbs, ADeviceIsOpenedByItsName) {
  rdmagpu_verbs_names* list = nullptr;
  ASSERT_EQ(rdmagpu_verbs_names_create(&list, nullptr), RDMAGPU_OK);
  const OwnedVerbs<rdmagpu_verbs_names> names{list};
  ASSERT_EQ(rdmagpu_verbs_names_count(list), 1U);
  EXPECT_STREQ(rdmagpu_verbs_names_get(list, 0), "nic0");
  EXPECT_EQ(rdmagpu_verbs_names_get(list, 1), nullptr);
  rdmagpu_verbs_device* made = nullptr;
  ASSERT_EQ(rdmagpu_verbs_device_open("nic0", &made, nullptr), RDMAGPU_OK);
  const OwnedVerbs<rdmagpu_verbs_device> device{made};
  EXPECT_NE(rdmagpu_verbs_device_domain(made), nullptr);
  rdmagpu_pci_address pci{.domain = 1, .bus = 1, .device = 1, .function = 1, .present = 1};
  EXPECT_EQ(rdmagpu_verbs_device_pci(made, &pci, nullptr), RDMAGPU_OK);
  EXPECT_EQ(pci.present, 0U); // no PCI device is behind the stand-in
  EXPECT_STREQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_verbs_device_pci(made, nullptr, e); }).code_name,
      "PointerNull");
  EXPECT_EQ(rdmagpu_verbs_device_pci(nullptr, &pci, nullptr), RDMAGPU_INVALID_ARGUMENT);
  rdmagpu_verbs_device* none = nullptr;
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) { return rdmagpu_verbs_device_open("nic9", &none, e); }).kind,
            RDMAGPU_NOT_FOUND);
  EXPECT_STREQ(
      failureOf([&](rdmagpu_error* e) { return rdmagpu_verbs_device_open(nullptr, &none, e); }).code_name,
      "PointerNull");
  EXPECT_EQ(none, nullptr);
}

TEST_F(CapiVerbs, SlotsHaveKeysAndAddresses) {
  rdmagpu_verbs_facts facts = RDMAGPU_INIT(rdmagpu_verbs_facts);
  ASSERT_EQ(rdmagpu_verbs_registration_facts(registration(), &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.path, RDMAGPU_VERBS_PATH_HOST_PAGES);
  EXPECT_NE(facts.rkey, 0U);
  EXPECT_NE(facts.native, nullptr);
  EXPECT_EQ(facts.size, 3 * 131072U);
  std::uint64_t address = 0;
  ASSERT_TRUE(rdmagpu_verbs_remote_address(registration(), 2, &address));
  EXPECT_EQ(address, facts.iova + 2 * 131072U);
  EXPECT_FALSE(rdmagpu_verbs_remote_address(registration(), 3, &address));
  EXPECT_FALSE(rdmagpu_verbs_remote_address(registration(), 0, nullptr));
  ASSERT_EQ(rdmagpu_verbs_registration_deregister(registration(), nullptr), RDMAGPU_OK);
  EXPECT_TRUE(nictest::live().empty());
  ASSERT_EQ(rdmagpu_verbs_registration_facts(registration(), &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.path, RDMAGPU_VERBS_PATH_ANY);
  EXPECT_EQ(facts.rkey, 0U);
}

TEST_F(CapiVerbs, OptionsArrive) {
  options.flags = RDMAGPU_VERBS_ONE_SLOT | RDMAGPU_VERBS_AT_IOVA;
  options.slot = 1;
  options.iova = 65536;
  options.access = RDMAGPU_ACCESS_LOCAL_WRITE;
  ASSERT_EQ(make(), RDMAGPU_OK);
  ASSERT_EQ(nictest::live().size(), 1U);
  EXPECT_EQ(nictest::live()[0].iova, 65536U);
  EXPECT_EQ(nictest::live()[0].bytes, 131072U);
  std::uint64_t address = 0;
  EXPECT_FALSE(rdmagpu_verbs_remote_address(registration(), 0, &address));
  EXPECT_TRUE(rdmagpu_verbs_remote_address(registration(), 1, &address));
  EXPECT_EQ(address, 65536U);
}

TEST_F(CapiVerbs, EveryPathThatWasTriedIsTold) {
  rdmagpu_verbs_registration* made = nullptr;
  rdmagpu_verbs_attempts* tried = nullptr;
  options.path = RDMAGPU_VERBS_PATH_PEER_MEMORY;
  EXPECT_NE(
      rdmagpu_verbs_registration_create(nictest::domain(), buffer.get(), &options, &made, &tried, nullptr),
      RDMAGPU_OK);
  EXPECT_EQ(made, nullptr);
  ASSERT_NE(tried, nullptr);
  const OwnedVerbs<rdmagpu_verbs_attempts> failed{tried};
  ASSERT_EQ(
      rdmagpu_verbs_registration_create(nictest::domain(), buffer.get(), nullptr, &made, &tried, nullptr),
      RDMAGPU_OK);
  const OwnedVerbs<rdmagpu_verbs_registration> own{made};
  const OwnedVerbs<rdmagpu_verbs_attempts> attempts{tried};
  ASSERT_EQ(rdmagpu_verbs_attempts_count(tried), 1U);
  std::int32_t path = -1;
  rdmagpu_error failure = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_TRUE(rdmagpu_verbs_attempts_get(tried, 0, &path, &failure));
  EXPECT_EQ(path, RDMAGPU_VERBS_PATH_HOST_PAGES);
  EXPECT_EQ(failure.kind, RDMAGPU_OK);
  EXPECT_FALSE(rdmagpu_verbs_attempts_get(tried, 1, &path, &failure));
  EXPECT_FALSE(rdmagpu_verbs_attempts_get(tried, 0, nullptr, &failure));
  std::string text(rdmagpu_verbs_attempts_text(tried, nullptr, 0) + 1, '\0');
  EXPECT_EQ(rdmagpu_verbs_attempts_text(tried, text.data(), text.size()), text.size() - 1);
  EXPECT_NE(text.find("host-pages"), std::string::npos) << text;
}

TEST_F(CapiVerbs, BadOptionsAreRefusedByName) {
  const auto refused = [&](const char* field) {
    EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return make(e); }).call, field);
    options = RDMAGPU_INIT(rdmagpu_verbs_options);
  };
  options.flags = 128;
  refused("rdmagpu_verbs_options::flags");
  options.access = 16;
  refused("rdmagpu_verbs_options::access");
  options.flags = RDMAGPU_VERBS_SEND_ONLY;
  options.access = 1;
  refused("rdmagpu_verbs_options::access");
  options.path = 5;
  refused("rdmagpu_verbs_options::path");
  options.path = INT32_MIN;
  refused("rdmagpu_verbs_options::path");
  options.reserved = 1;
  refused("rdmagpu_verbs_options::reserved");
  rdmagpu_verbs_registration* made = nullptr;
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_verbs_registration_create(nullptr, buffer.get(), nullptr, &made, nullptr, e);
               }).code_name,
               "DomainNull");
  EXPECT_EQ(rdmagpu_verbs_path_name(0), nullptr);
  EXPECT_EQ(rdmagpu_verbs_path_name(5), nullptr);
  EXPECT_STREQ(rdmagpu_verbs_path_name(RDMAGPU_VERBS_PATH_DMA_BUF), "dma-buf");
}

TEST_F(CapiVerbs, ALoopbackProvesTheSlots) {
  rdmagpu_verbs_peer* made = nullptr;
  ASSERT_EQ(rdmagpu_verbs_loopback_create(registration(), nullptr, &made, nullptr), RDMAGPU_OK);
  const OwnedVerbs<rdmagpu_verbs_peer> peer{made};
  EXPECT_STREQ(rdmagpu_verbs_peer_name(made), "verbs:nic0");
  EXPECT_EQ(rdmagpu_verbs_peer_agent(made), RDMAGPU_AGENT_SOFTWARE);
  rdmagpu_verbs_port port = RDMAGPU_INIT(rdmagpu_verbs_port);
  ASSERT_EQ(rdmagpu_verbs_peer_port(made, &port, nullptr), RDMAGPU_OK);
  EXPECT_STREQ(port.device, "nic0");
  EXPECT_EQ(port.port, 1U);
  EXPECT_EQ(port.has_gid_index, 1U);
  EXPECT_STRNE(port.gid, "");
  std::vector<unsigned char> in(100, 6);
  std::vector<unsigned char> out(100);
  EXPECT_EQ(rdmagpu_verbs_peer_write(made, 1, in.data(), in.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(rdmagpu_verbs_peer_read(made, 1, out.data(), out.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(in, out);
  rdmagpu_report* told = nullptr;
  ASSERT_EQ(rdmagpu_verbs_peer_verify(made, buffer.get(), nullptr, &told, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_report> report{told};
  expectProof(told);
  EXPECT_EQ(rdmagpu_verbs_peer_finish(made, RDMAGPU_YES, RDMAGPU_YES, nullptr), RDMAGPU_OK);
}

TEST_F(CapiVerbs, AnotherHostProvesThem) {
  rdmagpu_verbs_peer_options quick = RDMAGPU_INIT(rdmagpu_verbs_peer_options);
  quick.timeout_ms = 30'000;
  rdmagpu_verbs_server* listening = nullptr;
  ASSERT_EQ(rdmagpu_verbs_server_listen(nictest::domain(), "127.0.0.1", 0, &quick, &listening, nullptr),
            RDMAGPU_OK);
  const OwnedVerbs<rdmagpu_verbs_server> server{listening};
  rdmagpu_verbs_served served = RDMAGPU_INIT(rdmagpu_verbs_served);
  rdmagpu_verbs_port port = RDMAGPU_INIT(rdmagpu_verbs_port);
  int kind = -1;
  std::thread host{[&] { kind = rdmagpu_verbs_server_serve(listening, &served, &port, nullptr); }};
  rdmagpu_verbs_peer* made = nullptr;
  const int connected = rdmagpu_verbs_remote_connect(
      registration(), "127.0.0.1", rdmagpu_verbs_server_tcp_port(listening), &quick, &made, nullptr);
  EXPECT_EQ(connected, RDMAGPU_OK);
  const OwnedVerbs<rdmagpu_verbs_peer> peer{made};
  rdmagpu_report* told = nullptr;
  EXPECT_EQ(rdmagpu_verbs_peer_verify(made, buffer.get(), nullptr, &told, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_report> report{told};
  expectProof(told);
  EXPECT_EQ(rdmagpu_verbs_peer_finish(made, 9, RDMAGPU_YES, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(rdmagpu_verbs_peer_finish(made, RDMAGPU_YES, -1, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(rdmagpu_verbs_peer_finish(made, RDMAGPU_YES, RDMAGPU_YES, nullptr), RDMAGPU_OK);
  host.join();
  EXPECT_EQ(kind, RDMAGPU_OK);
  EXPECT_STREQ(served.client, "::ffff:127.0.0.1");
  EXPECT_EQ(served.write_proven, RDMAGPU_YES);
  EXPECT_EQ(served.read_proven, RDMAGPU_YES);
  EXPECT_EQ(served.written, 3 * 131072U);
  EXPECT_STREQ(port.device, "nic0");
  // Refused before any client is waited for.
  served.struct_size = 0;
  EXPECT_EQ(rdmagpu_verbs_server_serve(listening, &served, nullptr, nullptr), RDMAGPU_INVALID_ARGUMENT);
  served = RDMAGPU_INIT(rdmagpu_verbs_served);
  port.struct_size = 0;
  EXPECT_EQ(rdmagpu_verbs_server_serve(listening, &served, &port, nullptr), RDMAGPU_INVALID_ARGUMENT);
}

TEST_F(CapiVerbs, BadPeerOptionsAreRefusedByName) {
  rdmagpu_verbs_peer_options wrong = RDMAGPU_INIT(rdmagpu_verbs_peer_options);
  rdmagpu_verbs_peer* made = nullptr;
  const auto refused = [&](const char* field) {
    EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                   return rdmagpu_verbs_loopback_create(registration(), &wrong, &made, e);
                 }).call,
                 field);
    wrong = RDMAGPU_INIT(rdmagpu_verbs_peer_options);
  };
  wrong.port = 256;
  refused("rdmagpu_verbs_peer_options::port");
  wrong.has_gid_index = 2;
  refused("rdmagpu_verbs_peer_options::has_gid_index");
  for(const std::int64_t time : {std::int64_t{-1}, INT64_MAX}) {
    wrong.timeout_ms = time;
    refused("rdmagpu_verbs_peer_options::timeout_ms");
  }
  EXPECT_EQ(made, nullptr);
}

TEST_F(CapiVerbs, NullIsRefused) {
  rdmagpu_verbs_peer* peer = nullptr;
  rdmagpu_verbs_registration* made = nullptr;
  rdmagpu_verbs_facts facts = RDMAGPU_INIT(rdmagpu_verbs_facts);
  rdmagpu_verbs_port port = RDMAGPU_INIT(rdmagpu_verbs_port);
  rdmagpu_verbs_served served = RDMAGPU_INIT(rdmagpu_verbs_served);
  rdmagpu_report* report = nullptr;
  const auto null = [](auto call) { EXPECT_STREQ(failureOf(call).code_name, "PointerNull"); };
  null([&](rdmagpu_error* e) {
    return rdmagpu_verbs_registration_create(nictest::domain(), nullptr, nullptr, &made, nullptr, e);
  });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_registration_facts(nullptr, &facts, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_registration_deregister(nullptr, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_loopback_create(nullptr, nullptr, &peer, e); });
  null([&](rdmagpu_error* e) {
    return rdmagpu_verbs_remote_connect(registration(), nullptr, 1, nullptr, &peer, e);
  });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_peer_port(nullptr, &port, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_peer_write(nullptr, 0, nullptr, 0, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_peer_read(nullptr, 0, nullptr, 0, e); });
  null([&](rdmagpu_error* e) {
    return rdmagpu_verbs_peer_verify(nullptr, buffer.get(), nullptr, &report, e);
  });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_peer_finish(nullptr, 0, 0, e); });
  null([&](rdmagpu_error* e) { return rdmagpu_verbs_server_serve(nullptr, &served, nullptr, e); });
  EXPECT_EQ(rdmagpu_verbs_names_count(nullptr), 0U);
  EXPECT_EQ(rdmagpu_verbs_names_get(nullptr, 0), nullptr);
  EXPECT_EQ(rdmagpu_verbs_device_domain(nullptr), nullptr);
  EXPECT_EQ(rdmagpu_verbs_attempts_count(nullptr), 0U);
  EXPECT_EQ(rdmagpu_verbs_attempts_text(nullptr, nullptr, 0), 0U);
  EXPECT_FALSE(rdmagpu_verbs_remote_address(nullptr, 0, nullptr));
  EXPECT_EQ(rdmagpu_verbs_peer_name(nullptr), nullptr);
  EXPECT_EQ(rdmagpu_verbs_peer_agent(nullptr), RDMAGPU_AGENT_NONE);
  EXPECT_EQ(rdmagpu_verbs_server_tcp_port(nullptr), 0U);
  rdmagpu_verbs_server_destroy(nullptr);
}

} // namespace
} // namespace rdmagpu::capitest
