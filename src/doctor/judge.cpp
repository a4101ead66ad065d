#include <doctor/findings.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace rdmagpu::doctor {
namespace {

bool concerns(const Subject& subject, const std::string& gpu, const std::string& peer) noexcept {
  return (subject.gpu.empty() || subject.gpu == gpu) && (subject.peer.empty() || subject.peer == peer);
}

bool counts(const Findings& findings, const Found& found, const std::string& gpu, const std::string& peer,
            Route route) noexcept {
  return (found.check->routes & bit(route)) != 0 && concerns(found.subject, gpu, peer) &&
         (!found.subject.route || found.subject.route == route) &&
         !isSettled(findings, *found.check, gpu, peer, route);
}

/// Whether a device has moved bytes by that route in both directions, and all arrived.
bool isProven(const Findings& findings, const PairVerdict& pair) noexcept {
  const auto went = [&](StepKind kind) {
    return std::any_of(findings.steps.begin(), findings.steps.end(), [&](const DoctorStep& step) {
      return step.kind == kind && step.result == Answer::Yes && step.by == Agent::Device &&
             step.gpu == pair.gpu && step.peer == pair.peer && step.route == pair.route;
    });
  };
  return went(StepKind::Write) && went(StepKind::Read);
}

PairVerdict judgeRoute(const Gpu& gpu, const std::string& peer, Distance distance, Route route,
                       const Findings& findings) {
  PairVerdict pair{.gpu = gpu.device.id, .peer = peer, .route = route, .distance = distance};
  std::vector<const Check*> deciding;
  for(const Found& found : findings.found) {
    if(counts(findings, found, gpu.device.id, peer, route))
      deciding.push_back(found.check);
  }
  std::stable_sort(deciding.begin(), deciding.end(),
                   [](const Check* a, const Check* b) { return a->verdict > b->verdict; });
  for(const Check* check : deciding) {
    pair.verdict = std::max(pair.verdict, check->verdict);
    if(std::find(pair.because.begin(), pair.because.end(), check->id) == pair.because.end())
      pair.because.push_back(check->id);
  }
  pair.tried = deciding.empty() ? isProven(findings, pair)
                                : std::string_view{deciding.front()->id}.starts_with("tried-");
  return pair;
}

/// Whether that peer has accepted memory of that GPU by that route.
bool hasRegistered(const Findings& findings, const Gpu& gpu, const MachinePeer& peer, Route route) noexcept {
  return std::any_of(findings.steps.begin(), findings.steps.end(), [&](const DoctorStep& step) {
    return step.kind == StepKind::Registration && step.result == Answer::Yes && step.gpu == gpu.device.id &&
           step.peer == peer.device.id && step.route == route;
  });
}

bool hasPeerMemory(const Machine& machine, const Gpu& gpu) {
  if(!isNvidia(gpu))
    return machine.root.has("/sys/kernel/mm/memory_peers/amdkfd");
  return machine.hasModule("nvidia_peermem") || machine.hasModule("nv_peer_mem");
}

/// Peer memory is judged where it is there, or where it would be the way out.
std::vector<Route> routesOf(const Machine& machine, const Gpu& gpu, const MachinePeer* peer,
                            const Findings& findings) {
  if(!peer)
    return isNvidia(gpu) ? std::vector{Route::DmaBuf, Route::NvidiaP2p} : std::vector{Route::DmaBuf};
  if(peer->device.role == MachineRole::Nic) {
    const Verdict dmaBuf = verdictOn(findings, gpu.device.id, peer->device.id, Route::DmaBuf);
    if(hasPeerMemory(machine, gpu) || dmaBuf >= Verdict::Staged ||
       hasRegistered(findings, gpu, *peer, Route::PeerMemory))
      return {Route::DmaBuf, Route::PeerMemory};
    return {Route::DmaBuf};
  }
  return peer->route == Route::Host ? std::vector<Route>{} : std::vector{peer->route};
}

void judgePair(const Machine& machine, const Gpu& gpu, const MachinePeer* peer, const Findings& findings,
               std::vector<PairVerdict>& pairs) {
  const std::string id = peer ? peer->device.id : std::string{};
  const Distance far = peer && peer->pci ? distance(machine.pci, *gpu.pci, *peer->pci) : Distance::Unknown;
  Verdict best = Verdict::Blocked;
  std::vector<PairVerdict> judged;
  for(const Route route : routesOf(machine, gpu, peer, findings)) {
    judged.push_back(judgeRoute(gpu, id, far, route, findings));
    best = std::min(best, judged.back().verdict);
  }
  // A second way that is shut is of no interest where one is open.
  std::erase_if(judged, [&](const PairVerdict& pair) {
    return best < Verdict::Unknown && pair.verdict >= Verdict::Unknown && pair.route == Route::PeerMemory;
  });
  std::move(judged.begin(), judged.end(), std::back_inserter(pairs));
  if(best >= Verdict::Unknown)
    pairs.push_back({.gpu = gpu.device.id,
                     .peer = id,
                     .route = Route::Host,
                     .verdict = Verdict::Staged,
                     .distance = far});
}

/// Whether of a GPU and a peer some way that the finding speaks of was tried, and is as it should be.
bool isSettledFor(const Findings& findings, const Found& found, const std::string& gpu,
                  const std::string& peer) noexcept {
  constexpr std::array routes{Route::DmaBuf, Route::PeerMemory, Route::NvidiaP2p};
  return !concerns(found.subject, gpu, peer) || std::any_of(routes.begin(), routes.end(), [&](Route route) {
    return (found.check->routes & bit(route)) != 0 && isSettled(findings, *found.check, gpu, peer, route);
  });
}

bool isSettledForAll(const Machine& machine, const Findings& findings, const Found& found) {
  for(const Gpu& gpu : machine.gpus) {
    for(const MachinePeer& peer : machine.peers) {
      if(!isSettledFor(findings, found, gpu.device.id, peer.device.id))
        return false;
    }
    if(machine.peers.empty() && !isSettledFor(findings, found, gpu.device.id, {}))
      return false;
  }
  return !machine.gpus.empty();
}

} // namespace

std::vector<Finding> worthTelling(const Machine& machine, const Findings& findings) {
  std::vector<Finding> told;
  for(std::size_t i = 0; i < findings.found.size(); ++i) {
    const Found& found = findings.found[i];
    if(found.subject.told && !isSettledForAll(machine, findings, found))
      told.push_back(findings.told[i]);
  }
  return told;
}

Verdict verdictOn(const Findings& findings, const std::string& gpu, const std::string& peer,
                  Route route) noexcept {
  Verdict verdict = Verdict::Direct;
  for(const Found& found : findings.found) {
    if(counts(findings, found, gpu, peer, route))
      verdict = std::max(verdict, found.check->verdict);
  }
  return verdict;
}

std::vector<PairVerdict> judge(const Machine& machine, const Findings& findings) {
  std::vector<PairVerdict> pairs;
  for(const Gpu& gpu : machine.gpus) {
    for(const MachinePeer& peer : machine.peers)
      judgePair(machine, gpu, &peer, findings, pairs);
    if(machine.peers.empty())
      judgePair(machine, gpu, nullptr, findings, pairs);
  }
  if(machine.jetson)
    pairs.push_back({.gpu = "integrated",
                     .peer = {},
                     .route = Route::Host,
                     .verdict = Verdict::Direct,
                     .distance = Distance::Unknown,
                     .because = {"integrated-gpu"}});
  return pairs;
}

} // namespace rdmagpu::doctor
