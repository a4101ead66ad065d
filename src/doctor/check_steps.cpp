#include <doctor/findings.hpp>

#include <algorithm>
#include <string_view>

namespace rdmagpu::doctor {
namespace {

/// The finding that a GPU's step is which did not go well; null: it is a peer's.
const char* findingOf(StepKind kind) noexcept {
  switch(kind) {
  case StepKind::DriverLibrary:
    return "tried-library";
  case StepKind::Device:
    return "tried-device";
  case StepKind::Attributes:
    return "tried-attributes";
  case StepKind::Allocation:
    return "tried-allocation";
  case StepKind::Reach:
    return "tried-reach";
  case StepKind::Export:
    return "tried-export";
  case StepKind::Registration:
  case StepKind::Write:
  case StepKind::Read:
    return nullptr;
  }
  return nullptr;
}

std::string evidenceOf(const DoctorStep& step) { return "tried: " + step.says; }

/// Where another driver has the GPU, or none, that says all.
void checkGpu(const Gpu& gpu, Findings& findings) {
  if(gpu.device.driver != "nvidia")
    return;
  for(const DoctorStep& step : std::vector{findings.steps}) {
    if(step.gpu != gpu.device.id || step.result != Answer::No)
      continue;
    if(const char* id = findingOf(step.kind))
      findings.add(id, evidenceOf(step), {.gpu = gpu.device.id});
  }
}

const DoctorStep* find(const Findings& findings, const Gpu& gpu, const MachinePeer& peer, Route route,
                       StepKind kind) {
  const auto found = std::find_if(findings.steps.begin(), findings.steps.end(), [&](const DoctorStep& step) {
    return step.kind == kind && step.gpu == gpu.device.id && step.peer == peer.device.id &&
           step.route == route;
  });
  return found == findings.steps.end() ? nullptr : &*found;
}

void checkTransfers(const Gpu& gpu, const MachinePeer& peer, Route route, Findings& findings) {
  const DoctorStep* write = find(findings, gpu, peer, route, StepKind::Write);
  const DoctorStep* read = find(findings, gpu, peer, route, StepKind::Read);
  const bool lost = write && write->result == Answer::No;
  const bool wrong = read && read->result == Answer::No;
  if(!lost && !wrong)
    return;
  const char* id = lost && wrong ? "tried-transfers" : lost ? "tried-write" : "tried-read";
  findings.add(id, std::string{name(route)} + ", " + evidenceOf(lost ? *write : *read),
               {.gpu = gpu.device.id, .peer = peer.device.id, .shown = peer.device.name, .route = route});
}

void checkPeer(const Gpu& gpu, const MachinePeer& peer, Findings& findings) {
  const DoctorStep* dmaBuf = find(findings, gpu, peer, Route::DmaBuf, StepKind::Registration);
  for(const Route route : {Route::DmaBuf, Route::PeerMemory}) {
    const DoctorStep* step = find(findings, gpu, peer, route, StepKind::Registration);
    if(!step)
      continue;
    // Whoever takes the dma-buf need not take the address.
    const bool spare = route == Route::PeerMemory && dmaBuf && dmaBuf->result == Answer::Yes;
    if(step->result == Answer::No)
      findings.add("tried-registration", std::string{name(route)} + ", " + evidenceOf(*step),
                   {.gpu = gpu.device.id,
                    .peer = peer.device.id,
                    .shown = peer.device.name,
                    .route = route,
                    .told = !spare});
    checkTransfers(gpu, peer, route, findings);
  }
}

} // namespace

void checkSteps(const Machine& machine, Findings& findings) {
  for(const Gpu& gpu : machine.gpus) {
    checkGpu(gpu, findings);
    for(const MachinePeer& peer : machine.peers)
      checkPeer(gpu, peer, findings);
  }
}

} // namespace rdmagpu::doctor
