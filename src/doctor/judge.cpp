#include <doctor/findings.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rdmagpu::doctor {
namespace {

bool concerns(const Subject& subject, const std::string& gpu, const std::string& peer) noexcept {
  return (subject.gpu.empty() || subject.gpu == gpu) && (subject.peer.empty() || subject.peer == peer);
}

PairVerdict judgeRoute(const Gpu& gpu, const std::string& peer, Distance distance, Route route,
                       const Findings& findings) {
  PairVerdict pair{.gpu = gpu.device.id, .peer = peer, .route = route, .distance = distance};
  std::vector<const Check*> deciding;
  for(const Found& found : findings.found) {
    if((found.check->routes & bit(route)) != 0 && concerns(found.subject, gpu.device.id, peer))
      deciding.push_back(found.check);
  }
  std::stable_sort(deciding.begin(), deciding.end(),
                   [](const Check* a, const Check* b) { return a->verdict > b->verdict; });
  for(const Check* check : deciding) {
    pair.verdict = std::max(pair.verdict, check->verdict);
    if(std::find(pair.because.begin(), pair.because.end(), check->id) == pair.because.end())
      pair.because.push_back(check->id);
  }
  return pair;
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
    if(hasPeerMemory(machine, gpu) || dmaBuf >= Verdict::Staged)
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

} // namespace

Verdict verdictOn(const Findings& findings, const std::string& gpu, const std::string& peer,
                  Route route) noexcept {
  Verdict verdict = Verdict::Direct;
  for(const Found& found : findings.found) {
    if((found.check->routes & bit(route)) != 0 && concerns(found.subject, gpu, peer))
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
