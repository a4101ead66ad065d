#include "verify/nic.hpp"

#include "output.hpp"

#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_loopback.hpp>
#include <rdmagpu/verbs_remote.hpp>

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
  else
    failure.message = fmt::format("RDMA device {}: {}", quote(nic.device), failure.message);
  return failure;
}

NicFacts factsOf(const VerbsPort& port) {
  return {.device = port.device,
          .port = port.port,
          .gidIndex = port.gidIndex,
          .gid = port.gid,
          .address = port.address,
          .attempts = {},
          .to = {},
          .pci = {}};
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
      : m_device(std::move(device)),
        m_port({.port = options.peer.nic->port, .gidIndex = options.gid}),
        m_to(options.to) {}

  std::optional<Failure> attach(const RdmaGpuBuffer& buffer) override {
    std::vector<RegistrationAttempt> attempts;
    auto slots = VerbsRegistration::make(m_device.domain(), buffer, {}, &attempts);
    if(!slots)
      return registrationFailure(slots.error(), attempts);
    m_slots = *std::move(slots);
    return m_to ? attachTo(*m_to) : attachLoopback();
  }

  Peer& peer() noexcept override {
    if(m_remote)
      return *m_remote;
    return *m_loopback;
  }

  std::optional<PciAddress> pci() const override { return m_device.pci(); }

  NicFacts facts() const override {
    NicFacts facts = factsOf(m_remote ? m_remote->port() : m_loopback->port());
    for(const RegistrationAttempt& attempt : m_slots.attempts())
      facts.attempts.push_back({name(attempt.path), attempt.error});
    if(m_to)
      facts.to = m_to->host;
    if(const auto address = pci())
      facts.pci = address->text();
    return facts;
  }

  std::optional<Failure> finish(const VerifyReport& report) override {
    if(!m_remote)
      return {};
    if(const auto told = m_remote->finish(report.write, report.read); !told)
      return failureOf(told.error(), verifyConfigOptions);
    return {};
  }

  std::variant<NicService, Failure> serve(const HostPort& at) override {
    auto server = VerbsServer::listen(m_device.domain(), at.host, portOr(at), remoteOptions());
    if(!server)
      return failureOf(server.error(), verifyConfigOptions);
    printNote(
        fmt::format("verify: waiting for 'rdmagpu verify --peer verbs:DEVICE --to HOST:{}' on another host",
                    server->tcpPort()));
    const auto served = server->serve();
    if(!served)
      return failureOf(served.error(), verifyConfigOptions);
    return NicService{.nic = factsOf(served->port),
                      .client = served->client,
                      .written = served->written,
                      .read = served->read,
                      .writeProven = served->writeProven,
                      .readProven = served->readProven};
  }

private:
  static std::uint16_t portOr(const HostPort& at) { return at.port ? at.port : verbsRemotePort; }
  VerbsRemoteOptions remoteOptions() const { return {.port = m_port.port, .gidIndex = m_port.gidIndex}; }

  std::optional<Failure> attachLoopback() {
    auto made = VerbsLoopback::make(m_slots, m_port);
    if(!made)
      return failureOf(made.error(), verifyConfigOptions);
    m_loopback.emplace(*std::move(made));
    return {};
  }

  std::optional<Failure> attachTo(const HostPort& other) {
    auto made = VerbsRemote::connect(m_slots, other.host, portOr(other), remoteOptions());
    if(!made)
      return failureOf(made.error(), verifyConfigOptions);
    m_remote.emplace(*std::move(made));
    return {};
  }

  VerbsDevice m_device; // each is used by those below it
  VerbsLoopbackOptions m_port;
  std::optional<HostPort> m_to;
  VerbsRegistration m_slots;
  std::optional<VerbsLoopback> m_loopback;
  std::optional<VerbsRemote> m_remote;
};

} // namespace

std::variant<std::unique_ptr<Nic>, Failure> Nic::open(const VerifyOptions& options) {
  auto device = VerbsDevice::open(options.peer.nic->device);
  if(!device)
    return openFailure(device.error(), *options.peer.nic);
  return std::make_unique<VerbsNic>(*std::move(device), options);
}

} // namespace rdmagpu::cli
