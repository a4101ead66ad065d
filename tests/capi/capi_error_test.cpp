#include "capi_support.hpp"

#include <rdmagpu/backends.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/inspect.hpp>

#include <array>
#include <cstring>

namespace rdmagpu::capitest {
namespace {

rdmagpu_error tooMuch() {
  const rdmagpu_config config = hostConfig(4, std::uint64_t{1} << 50);
  return failureOf([&](rdmagpu_error* error) {
    rdmagpu_buffer* buffer = nullptr;
    return rdmagpu_buffer_create(&config, &buffer, error);
  });
}

TEST(CapiError, SaysWhatTheSameErrorOfCppSays) {
  RdmaGpuBufferConfig config{
      .api = RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = std::size_t{1} << 50};
  config.host.lock = PageLock::Off;
  const auto cpp = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(cpp);
  const rdmagpu_error c = tooMuch();
  EXPECT_EQ(c.kind, static_cast<int>(cpp.error().kind));
  EXPECT_EQ(c.origin, static_cast<int>(cpp.error().origin));
  EXPECT_EQ(c.code, cpp.error().code);
  EXPECT_STREQ(c.code_name, cpp.error().codeName);
  EXPECT_STREQ(c.finding, cpp.error().finding);
  EXPECT_EQ(c.bytes, cpp.error().bytes);
  EXPECT_NE(c.available, 0U);
  EXPECT_EQ(c.device, cpp.error().device);
  EXPECT_EQ(c.slot, cpp.error().slot);
  const auto hints = cpp.error().hints();
  ASSERT_EQ(rdmagpu_error_hint_count(&c), hints.size());
  for(std::size_t i = 0; i < hints.size(); ++i)
    EXPECT_STREQ(rdmagpu_error_hint(&c, i), hints[i]);
  EXPECT_EQ(rdmagpu_error_hint(&c, hints.size()), nullptr);
  EXPECT_NE(messageOf(c).find("free"), std::string::npos) << messageOf(c);
}

TEST(CapiError, AMessageIsCutWhereThereIsNoRoomAndItsLengthIsTold) {
  const rdmagpu_error error = tooMuch();
  const std::string whole = messageOf(error);
  std::array<char, 12> part{};
  part.fill('#');
  EXPECT_EQ(rdmagpu_error_message(&error, part.data(), part.size()), whole.size());
  EXPECT_EQ(std::string{part.data()}, whole.substr(0, part.size() - 1));
  part.fill('#');
  EXPECT_EQ(rdmagpu_error_message(&error, part.data(), 0), whole.size());
  EXPECT_EQ(part[0], '#');
}

TEST(CapiError, OneThatNobodyHasFilledIsNone) {
  const rdmagpu_error none = RDMAGPU_INIT(rdmagpu_error);
  EXPECT_EQ(rdmagpu_error_hint_count(&none), 0U);
  EXPECT_EQ(messageOf(none), Error{}.message());
}

TEST(CapiError, ANullOneIsToldAsSuch) {
  std::array<char, 100> text{};
  rdmagpu_error_message(nullptr, text.data(), text.size());
  EXPECT_NE(std::string{text.data()}.find("null"), std::string::npos) << text.data();
}

TEST(CapiError, AddressAndUuidOfADeviceAreKept) {
  rdmagpu_config config = hostConfig();
  config.api = RDMAGPU_API_CUDA;
  config.gpu.named = RDMAGPU_GPU_BY_UUID;
  std::memset(config.gpu.uuid, 0xab, sizeof config.gpu.uuid);
  const auto create = [&](rdmagpu_error* error) {
    rdmagpu_buffer* buffer = nullptr;
    return rdmagpu_buffer_create(&config, &buffer, error);
  };
  const rdmagpu_error byUuid = failureOf(create);
  EXPECT_EQ(byUuid.kind, RDMAGPU_NOT_FOUND);
  ASSERT_EQ(byUuid.has_uuid, 1U);
  EXPECT_EQ(std::memcmp(byUuid.uuid, config.gpu.uuid, sizeof byUuid.uuid), 0);
  EXPECT_NE(messageOf(byUuid).find("abababab"), std::string::npos) << messageOf(byUuid);

  config.gpu.named = RDMAGPU_GPU_BY_PCI;
  ASSERT_TRUE(rdmagpu_pci_parse("ab:1f.7", &config.gpu.pci));
  const rdmagpu_error byAddress = failureOf(create);
  EXPECT_EQ(byAddress.pci.present, 1);
  EXPECT_EQ(byAddress.pci.bus, 0xab);
  EXPECT_NE(messageOf(byAddress).find("0000:ab:1f.7"), std::string::npos) << messageOf(byAddress);

  config.gpu.pci.present = 0;
  EXPECT_EQ(failureOf(create).kind, RDMAGPU_NOT_FOUND);
}

TEST(CapiError, PciAddressesAreReadAndWritten) {
  rdmagpu_pci_address address{};
  EXPECT_FALSE(rdmagpu_pci_parse("nonsense", &address));
  EXPECT_FALSE(rdmagpu_pci_parse(nullptr, &address));
  EXPECT_FALSE(rdmagpu_pci_parse("65:00.0", nullptr));
  EXPECT_EQ(address.present, 0);
  std::array<char, 32> text{'#'};
  EXPECT_EQ(rdmagpu_pci_text(address, text.data(), text.size()), 0U);
  EXPECT_STREQ(text.data(), "");
  ASSERT_TRUE(rdmagpu_pci_parse("65:00.0", &address));
  EXPECT_EQ(rdmagpu_pci_text(address, text.data(), text.size()), 12U);
  EXPECT_STREQ(text.data(), "0000:65:00.0");
}

template <class Enum>
void expectNames(const char* (*c)(std::int32_t), Enum last) {
  for(int i = 0; i <= static_cast<int>(last); ++i)
    EXPECT_STREQ(c(i), name(static_cast<Enum>(i)));
  EXPECT_EQ(c(static_cast<int>(last) + 1), nullptr);
  EXPECT_EQ(c(-1), nullptr);
}

TEST(CapiNames, AreThoseOfCpp) {
  expectNames(rdmagpu_errc_name, Errc::Internal);
  expectNames(rdmagpu_origin_name, Origin::CuFile);
  expectNames(rdmagpu_answer_name, Answer::Yes);
  expectNames(rdmagpu_agent_name, Agent::Device);
  expectNames(rdmagpu_api_name, RdmaGpuApi::PciP2p);
  expectNames(rdmagpu_handoff_name, HandoffKind::DmaBuf);
  expectNames(rdmagpu_pinned_by_name, PinnedBy::LevelZero);
  expectNames(rdmagpu_cuda_memory_name, CudaMemory::MemAlloc);
  expectNames(rdmagpu_memory_kind_name, MemoryKind::PinnedHost);
  EXPECT_STREQ(rdmagpu_api_name(RDMAGPU_API_AUTO), "auto");
  for(int i = RDMAGPU_RING_OK; i <= RDMAGPU_RING_FAULTY; ++i)
    EXPECT_NE(rdmagpu_ring_status_name(i), nullptr);
  EXPECT_EQ(rdmagpu_ring_status_name(RDMAGPU_RING_FAULTY + 1), nullptr);
}

TEST(CapiNames, OfApisAreFound) {
  std::int32_t api = -5;
  EXPECT_TRUE(rdmagpu_api_named("cuda", &api));
  EXPECT_EQ(api, RDMAGPU_API_CUDA);
  EXPECT_TRUE(rdmagpu_api_named("auto", &api));
  EXPECT_EQ(api, RDMAGPU_API_AUTO);
  EXPECT_FALSE(rdmagpu_api_named("voodoo", &api));
  EXPECT_FALSE(rdmagpu_api_named(nullptr, &api));
  EXPECT_EQ(api, RDMAGPU_API_AUTO);
}

TEST(CapiBackends, AreThoseOfCpp) {
  rdmagpu_backends* made = nullptr;
  ASSERT_EQ(rdmagpu_backends_create(&made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_backends> list{made};
  const auto cpp = backends();
  ASSERT_EQ(rdmagpu_backends_count(made), cpp.size());
  for(std::size_t i = 0; i < cpp.size(); ++i) {
    rdmagpu_backend_info info = RDMAGPU_INIT(rdmagpu_backend_info);
    rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
    ASSERT_TRUE(rdmagpu_backends_get(made, i, &info, &reason));
    EXPECT_EQ(info.api, static_cast<int>(cpp[i].api));
    EXPECT_EQ(info.available != 0, cpp[i].available);
    EXPECT_EQ(reason.kind, static_cast<int>(cpp[i].reason.kind));
    ASSERT_EQ(info.device_count, cpp[i].devices.size());
    for(std::size_t d = 0; d < cpp[i].devices.size(); ++d) {
      rdmagpu_device_info device = RDMAGPU_INIT(rdmagpu_device_info);
      ASSERT_TRUE(rdmagpu_backends_device(made, i, d, &device));
      EXPECT_EQ(device.name, cpp[i].devices[d].name);
      EXPECT_EQ(device.pci.present != 0, cpp[i].devices[d].pci.has_value());
    }
    rdmagpu_device_info beyond = RDMAGPU_INIT(rdmagpu_device_info);
    EXPECT_FALSE(rdmagpu_backends_device(made, i, info.device_count, &beyond));
  }
  rdmagpu_backend_info beyond = RDMAGPU_INIT(rdmagpu_backend_info);
  EXPECT_FALSE(rdmagpu_backends_get(made, cpp.size(), &beyond, nullptr));
  EXPECT_FALSE(rdmagpu_backends_get(made, 0, nullptr, nullptr));
  EXPECT_EQ(rdmagpu_backends_count(nullptr), 0U);
}

} // namespace
} // namespace rdmagpu::capitest
