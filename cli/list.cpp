#include "command.hpp"
#include "failure.hpp"
#include "hints.hpp"
#include "human.hpp"
#include "json.hpp"
#include "options.hpp"
#include "output.hpp"

#include <rdmagpu/backends.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rdmagpu::cli {
namespace {

Json toJson(const BackendInfo& backend) {
  Json devices = Json::array();
  for(const DeviceInfo& device : backend.devices)
    devices.push_back({{"name", device.name},
                       {"pci", device.pci ? Json(device.pci->text()) : Json()},
                       {"rdma_capable", name(device.rdmaCapable)}});
  return {{"name", name(backend.api)},
          {"available", backend.available},
          {"reason", backend.available ? Json() : cli::toJson(failureOf(backend.reason))},
          {"devices", devices}};
}

std::string listAsJson(const std::vector<BackendInfo>& all) {
  Json list = Json::array();
  for(const BackendInfo& backend : all)
    list.push_back(toJson(backend));
  return jsonText({{"backends", list}});
}

const char* capability(Answer rdmaCapable) {
  switch(rdmaCapable) {
  case Answer::Yes:
    return "yes";
  case Answer::No:
    return "no";
  case Answer::Unknown:
    return "no driver to ask";
  }
  return "?";
}

std::string listAsText(const std::vector<BackendInfo>& all) {
  std::vector<std::vector<std::string>> rows{{"BACKEND", "DEVICE", "PCI", "RDMA CAPABLE"}};
  std::string reasons;
  for(const BackendInfo& backend : all) {
    for(const DeviceInfo& device : backend.devices)
      rows.push_back({name(backend.api), device.name, device.pci ? device.pci->text() : "-",
                      capability(device.rdmaCapable)});
    if(backend.available)
      continue;
    rows.push_back({name(backend.api), "not available, see below", "-", "-"});
    reasons += std::string("\n") + name(backend.api) + ": " + backend.reason.message() + "\n";
    for(const std::string& hint : hintsOf(backend.reason))
      reasons += "  hint: " + hint + "\n";
  }
  return columns(rows) + reasons;
}

} // namespace

Command addList(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "list", "List the backends of this build, their devices, and why one cannot be used");
  const auto json = std::make_shared<bool>(false);
  addJson(*app, *json);
  app->footer(
      "Examples:\n  rdmagpu list\n  rdmagpu list --json | jq '.backends[] | select(.available) | .name'");
  return {app, [json] {
            const std::vector<BackendInfo> all = backends();
            return finishWith(*json ? listAsJson(all) : listAsText(all), "list", exitDone);
          }};
}

} // namespace rdmagpu::cli
