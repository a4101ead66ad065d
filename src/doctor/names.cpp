#include <rdmagpu/doctor.hpp>

namespace rdmagpu {

const char* name(Severity severity) noexcept {
  switch(severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Blocker:
    return "blocker";
  }
  return "?";
}

const char* name(Verdict verdict) noexcept {
  switch(verdict) {
  case Verdict::Direct:
    return "direct";
  case Verdict::WriteOnly:
    return "write-only";
  case Verdict::ReadOnly:
    return "read-only";
  case Verdict::Unknown:
    return "unknown";
  case Verdict::Staged:
    return "staged";
  case Verdict::Blocked:
    return "blocked";
  }
  return "?";
}

const char* name(Route route) noexcept {
  switch(route) {
  case Route::DmaBuf:
    return "dma-buf";
  case Route::PeerMemory:
    return "peer-memory";
  case Route::NvidiaP2p:
    return "nvidia-p2p";
  case Route::Host:
    return "host";
  }
  return "?";
}

const char* name(Distance distance) noexcept {
  switch(distance) {
  case Distance::Unknown:
    return "unknown";
  case Distance::SameSwitch:
    return "same-switch";
  case Distance::SameRootPort:
    return "same-root-port";
  case Distance::SameHostBridge:
    return "same-host-bridge";
  case Distance::OtherHostBridge:
    return "other-host-bridge";
  case Distance::AcrossSockets:
    return "across-sockets";
  }
  return "?";
}

const char* name(MachineRole role) noexcept {
  switch(role) {
  case MachineRole::Bridge:
    return "bridge";
  case MachineRole::Gpu:
    return "gpu";
  case MachineRole::Nic:
    return "nic";
  case MachineRole::Card:
    return "card";
  }
  return "?";
}

const char* name(StepKind kind) noexcept {
  switch(kind) {
  case StepKind::DriverLibrary:
    return "driver-library";
  case StepKind::Device:
    return "device";
  case StepKind::Attributes:
    return "attributes";
  case StepKind::Allocation:
    return "allocation";
  case StepKind::Reach:
    return "reach";
  case StepKind::Export:
    return "export";
  case StepKind::Registration:
    return "registration";
  case StepKind::Write:
    return "write";
  case StepKind::Read:
    return "read";
  }
  return "?";
}

} // namespace rdmagpu
