#pragma once
#include <rdmagpu/rdmagpu_verbs.h>
#include <rdmagpu/verbs.hpp>
#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_loopback.hpp>
#include <rdmagpu/verbs_remote.hpp>

#include <string>
#include <utility>
#include <variant>
#include <vector>

struct rdmagpu_verbs_names {
  std::vector<std::string> value;
};
struct rdmagpu_verbs_device {
  rdmagpu::VerbsDevice value;
};
struct rdmagpu_verbs_attempts {
  std::vector<rdmagpu::RegistrationAttempt> value;
};
struct rdmagpu_verbs_registration {
  rdmagpu::VerbsRegistration value;
};
struct rdmagpu_verbs_peer {
  std::variant<rdmagpu::VerbsLoopback, rdmagpu::VerbsRemote> value;

  rdmagpu::Peer& peer() noexcept {
    return std::visit([](auto& nic) -> rdmagpu::Peer& { return nic; }, value);
  }
  const rdmagpu::Peer& peer() const noexcept {
    return std::visit([](const auto& nic) -> const rdmagpu::Peer& { return nic; }, value);
  }
  const rdmagpu::VerbsPort& port() const noexcept {
    return std::visit([](const auto& nic) -> const rdmagpu::VerbsPort& { return nic.port(); }, value);
  }
};
struct rdmagpu_verbs_server {
  explicit rdmagpu_verbs_server(rdmagpu::VerbsServer made) noexcept : value(std::move(made)) {}
  rdmagpu::VerbsServer value;
  rdmagpu::VerbsServed served; ///< The last client.
};
