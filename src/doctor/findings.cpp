#include <doctor/findings.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace rdmagpu {
namespace doctor {
namespace {

constexpr std::uint8_t noRoutes = 0;
constexpr std::uint8_t dmaBuf = bit(Route::DmaBuf);
constexpr std::uint8_t peerMemory = bit(Route::PeerMemory);
constexpr std::uint8_t nvidiaP2p = bit(Route::NvidiaP2p);
constexpr std::uint8_t gpuRoutes = dmaBuf | peerMemory | nvidiaP2p;

#define RDMAGPU_CHECK(id, severity, routes, verdict, settledBy, title, fix, risk)                            \
  Check{id, Severity::severity, routes, Verdict::verdict, SettledBy::settledBy, title, fix, risk},
constexpr Check checks[] = {
#include <doctor/checks.def>
};
#undef RDMAGPU_CHECK

constexpr auto kinds = [] {
  std::array<FindingKind, std::size(checks)> all{};
  for(std::size_t i = 0; i < all.size(); ++i)
    all[i] = {checks[i].id, checks[i].severity, checks[i].title, checks[i].fix, checks[i].risk};
  return all;
}();

/// "{}" of findings that are about no device stands in titles as well: those are composed here.
std::string filled(std::string text, const std::string& with) {
  if(const std::size_t at = text.find("{}"); at != std::string::npos)
    text.replace(at, 2, with);
  return text;
}

} // namespace

std::span<const Check> allChecks() noexcept { return checks; }

void Findings::add(std::string_view id, std::string evidence, const Subject& subject) {
  const auto* check =
      std::find_if(std::begin(checks), std::end(checks), [&](const Check& c) { return id == c.id; });
  if(check == std::end(checks))
    return;
  std::string device = subject.peer.empty() ? subject.gpu : subject.peer;
  const std::string& shown = subject.shown.empty() ? device : subject.shown;
  found.push_back({check, subject});
  told.push_back({.id = check->id,
                  .severity = check->severity,
                  .title = filled(check->title, shown),
                  .evidence = std::move(evidence),
                  .fix = filled(check->fix, shown),
                  .risk = check->risk,
                  .device = std::move(device)});
}

bool isNvidia(const Gpu& gpu) noexcept {
  constexpr std::uint32_t nvidia = 0x10de;
  return gpu.pci && gpu.pci->vendor == nvidia;
}

} // namespace doctor

std::span<const FindingKind> findingKinds() noexcept { return doctor::kinds; }

} // namespace rdmagpu
