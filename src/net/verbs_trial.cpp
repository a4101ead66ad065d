#include <base/library_error.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs.hpp>
#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_loopback.hpp>
#include <rdmagpu/verbs_trial.hpp>
#include <rdmagpu/verify.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace rdmagpu {
namespace {

/// The steps by one route.
class RouteTrial {
public:
  RouteTrial(std::vector<DoctorStep>& steps, Route route) noexcept : m_steps(steps), m_route(route) {}

  void tell(StepKind kind, Answer result, std::string says, Agent by = Agent::None) {
    m_steps.push_back({.kind = kind, .result = result, .route = m_route, .by = by, .says = std::move(says)});
  }
  void leaveTransfers(const std::string& why) {
    tell(StepKind::Write, Answer::Unknown, why);
    tell(StepKind::Read, Answer::Unknown, why);
  }

private:
  std::vector<DoctorStep>& m_steps;
  Route m_route;
};

std::string outcome(const VerifyReport& report, Direction direction, Answer answer, const Error& error) {
  if(error.kind != Errc::None)
    return error.message();
  if(answer == Answer::Yes)
    return std::string{"all bytes are right, moved by "} + report.peer;
  const auto failure = std::find_if(report.failures.begin(), report.failures.end(),
                                    [&](const VerifyFailure& one) { return one.direction == direction; });
  if(failure == report.failures.end())
    return "nobody tells";
  return failure->untouched ? "nothing arrived, although the device reported success"
                            : std::to_string(failure->wrongBytes) + " bytes are wrong, although the device "
                                                                    "reported success";
}

void tryTransfers(const RdmaGpuBuffer& buffer, const VerbsRegistration& slots, RouteTrial& trial) {
  auto loopback = VerbsLoopback::make(slots);
  if(!loopback)
    return trial.leaveTransfers(loopback.error().message());
  const auto report = verify(buffer, *loopback);
  if(!report)
    return trial.leaveTransfers(report.error().message());
  const Agent by = loopback->agent();
  trial.tell(StepKind::Write, report->write,
             outcome(*report, Direction::Write, report->write, report->writeError), by);
  trial.tell(StepKind::Read, report->read, outcome(*report, Direction::Read, report->read, report->readError),
             by);
}

void tryRoute(const VerbsDevice& device, const RdmaGpuBuffer& buffer, RegistrationPath path,
              RouteTrial trial) {
  VerbsOptions options;
  options.path = path;
  const auto slots = VerbsRegistration::make(device.domain(), buffer, options);
  if(!slots) {
    trial.tell(StepKind::Registration, Answer::No, slots.error().message());
    return trial.leaveTransfers("the device did not accept the memory");
  }
  trial.tell(StepKind::Registration, Answer::Yes, std::string{"accepted by "} + name(path));
  tryTransfers(buffer, *slots, trial);
}

} // namespace

VerbsTrial::~VerbsTrial() = default;

Result<std::vector<DoctorStep>> VerbsTrial::tryPeer(const RdmaGpuBuffer& buffer,
                                                    const std::string& name) try {
  std::vector<DoctorStep> steps;
  const auto device = VerbsDevice::open(name);
  for(const auto& [path, route] : {std::pair{RegistrationPath::DmaBuf, Route::DmaBuf},
                                   std::pair{RegistrationPath::PeerMemory, Route::PeerMemory}}) {
    RouteTrial trial(steps, route);
    if(device) {
      tryRoute(*device, buffer, path, trial);
      continue;
    }
    trial.tell(StepKind::Registration, Answer::Unknown, device.error().message());
    trial.leaveTransfers("the device cannot be opened");
  }
  return steps;
} catch(const std::bad_alloc&) {
  return libraryError("VerbsTrial::tryPeer", LibraryCode::OutOfMemory);
}

} // namespace rdmagpu
