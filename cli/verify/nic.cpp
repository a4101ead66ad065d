#include "verify/nic.hpp"

#include "output.hpp"

#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_loopback.hpp>

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace rdmagpu::cli {
namespace {

std::string presentDevices() {
  std::string present;
  const auto names = VerbsDevice::names();
  for(std::size_t i = 0; names && i < names->size(); ++i)
    present += (i ? ", " : "") + (*names)[i];
  return present.empty() ? "none" : present;
}

Failure openFailure(const Error& error, const NicOption& nic) {
  Failure failure = failureOf(error, verifyConfigOptions);
  if(std::string_view(error.codeName) == "NicNotFound")
    failure.message =
        fmt::format("there is no RDMA device {}: this machine has {}", quote(nic.device), presentDevices());
  return failure;
}

/// The library tells one reason; where several paths were tried, each is of interest.
Failure registrationFailure(const Error& error, const std::vector<RegistrationAttempt>& attempts) {
  Failure failure = failureOf(error, verifyConfigOptions);
  if(attempts.size() < 2)
    return failure;
  for(const RegistrationAttempt& attempt : attempts)
    failure.message += fmt::format("\n  {}: {}", name(attempt.path), attempt.error.message());
  return failure;
}

class VerbsNic final : public Nic {
public:
  VerbsNic(VerbsDevice device, const VerifyOptions& options)
      : m_device(std::move(device)), m_port({.port = options.peer.nic->port, .gidIndex = options.gid}) {}

  std::optional<Failure> attach(const RdmaGpuBuffer& buffer) override {
    std::vector<RegistrationAttempt> attempts;
    auto slots = VerbsRegistration::make(m_device.domain(), buffer, {}, &attempts);
    if(!slots)
      return registrationFailure(slots.error(), attempts);
    m_slots = *std::move(slots);
    auto loopback = VerbsLoopback::make(m_slots, m_port);
    if(!loopback)
      return failureOf(loopback.error(), verifyConfigOptions);
    m_loopback.emplace(*std::move(loopback));
    return {};
  }

  Peer& peer() noexcept override { return *m_loopback; }

  NicFacts facts() const override {
    const VerbsPort& port = m_loopback->port();
    NicFacts facts{
        .device = port.device, .port = port.port, .gidIndex = port.gidIndex, .gid = port.gid, .attempts = {}};
    for(const RegistrationAttempt& attempt : m_slots.attempts())
      facts.attempts.push_back({name(attempt.path), attempt.error});
    return facts;
  }

private:
  VerbsDevice m_device; // each is used by those below it
  VerbsLoopbackOptions m_port;
  VerbsRegistration m_slots;
  std::optional<VerbsLoopback> m_loopback;
};

} // namespace

std::variant<std::unique_ptr<Nic>, Failure> Nic::open(const VerifyOptions& options) {
  auto device = VerbsDevice::open(options.peer.nic->device);
  if(!device)
    return openFailure(device.error(), *options.peer.nic);
  return std::make_unique<VerbsNic>(*std::move(device), options);
}

} // namespace rdmagpu::cli
