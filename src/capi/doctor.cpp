#include <capi/call.hpp>
#include <capi/objects.hpp>

#include <string>
#include <vector>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(Severity::Blocker) == RDMAGPU_SEVERITY_BLOCKER);
static_assert(static_cast<int>(Verdict::Blocked) == RDMAGPU_VERDICT_BLOCKED);
static_assert(static_cast<int>(Verdict::Unknown) == RDMAGPU_VERDICT_UNKNOWN);
static_assert(static_cast<int>(Route::Host) == RDMAGPU_ROUTE_HOST);
static_assert(static_cast<int>(Distance::AcrossSockets) == RDMAGPU_DISTANCE_ACROSS_SOCKETS);
static_assert(static_cast<int>(MachineRole::Card) == RDMAGPU_ROLE_CARD);

Result<DoctorOptions> readOptions(const char* call, const rdmagpu_doctor_options* from) {
  DoctorOptions options;
  if(!from)
    return options;
  const auto c = capi::read(call, from);
  if(!c)
    return c.error();
  if(const auto good = capi::checkBits("rdmagpu_doctor_options::reserved", c->reserved, 0); !good)
    return good.error();
  if(c->root)
    options.root = c->root;
  if(c->gpu)
    options.gpu = c->gpu;
  if(c->peer)
    options.peer = c->peer;
  return options;
}

rdmagpu_finding toC(const Finding& finding) noexcept {
  return {.struct_size = 0,
          .severity = static_cast<int32_t>(finding.severity),
          .id = finding.id,
          .title = finding.title.c_str(),
          .evidence = finding.evidence.c_str(),
          .fix = finding.fix.c_str(),
          .risk = finding.risk,
          .device = finding.device.c_str()};
}

rdmagpu_pair_verdict toC(const PairVerdict& pair) noexcept {
  return {.struct_size = 0,
          .route = static_cast<int32_t>(pair.route),
          .verdict = static_cast<int32_t>(pair.verdict),
          .distance = static_cast<int32_t>(pair.distance),
          .gpu = pair.gpu.c_str(),
          .peer = pair.peer.c_str(),
          .because = pair.because.data(),
          .because_count = pair.because.size()};
}

rdmagpu_machine_device toC(const MachineDevice& device) noexcept {
  return {.struct_size = 0,
          .role = static_cast<int32_t>(device.role),
          .id = device.id.c_str(),
          .name = device.name.c_str(),
          .driver = device.driver.c_str(),
          .link = device.link.c_str(),
          .bar_bytes = device.bar.value_or(0),
          .path_count = device.path.size(),
          .numa_node = device.numaNode,
          .has_bar = device.bar ? 1U : 0U};
}

rdmagpu_finding_kind toC(const FindingKind& kind) noexcept {
  return {.struct_size = 0,
          .severity = static_cast<int32_t>(kind.severity),
          .id = kind.id,
          .title = kind.title,
          .fix = kind.fix,
          .risk = kind.risk};
}

rdmagpu_explanation toC(const Explanation& explanation) noexcept {
  return {.struct_size = 0,
          .reserved = 0,
          .matched = explanation.matched.c_str(),
          .finding = explanation.finding,
          .causes = explanation.causes.data(),
          .cause_count = explanation.causes.size()};
}

template <class List, class Struct>
bool get(const char* call, const List& list, std::size_t index, Struct* to) noexcept {
  return index < list.size() && capi::write(call, toC(list[index]), to);
}

const char* textAt(const std::vector<std::string>& texts, std::size_t index) noexcept {
  return index < texts.size() ? texts[index].c_str() : nullptr;
}

} // namespace

extern "C" {

const char* rdmagpu_severity_name(int32_t severity) { return capi::nameOf(severity, Severity::Blocker); }
const char* rdmagpu_verdict_name(int32_t verdict) { return capi::nameOf(verdict, Verdict::Blocked); }
const char* rdmagpu_route_name(int32_t route) { return capi::nameOf(route, Route::Host); }
const char* rdmagpu_distance_name(int32_t distance) {
  return capi::nameOf(distance, Distance::AcrossSockets);
}
const char* rdmagpu_machine_role_name(int32_t role) { return capi::nameOf(role, MachineRole::Card); }

int rdmagpu_diagnose(const rdmagpu_doctor_options* options, rdmagpu_diagnosis** diagnosis,
                     rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_diagnose";
  return capi::create(call, diagnosis, error, [&]() -> Result<DoctorReport> {
    const auto wanted = readOptions(call, options);
    if(!wanted)
      return wanted.error();
    return diagnose(*wanted);
  });
}

void rdmagpu_diagnosis_destroy(rdmagpu_diagnosis* diagnosis) { delete diagnosis; }

int rdmagpu_diagnosis_facts_of(const rdmagpu_diagnosis* diagnosis, rdmagpu_diagnosis_facts* facts,
                               rdmagpu_error* error) {
  return capi::fill("rdmagpu_diagnosis_facts_of", diagnosis, facts, error, [](const rdmagpu_diagnosis& d) {
    return rdmagpu_diagnosis_facts{.struct_size = 0,
                                   .verdict = static_cast<int32_t>(d.value.verdict),
                                   .kernel = d.value.kernel.c_str(),
                                   .driver = d.value.driver.c_str(),
                                   .finding_count = d.value.findings.size(),
                                   .pair_count = d.value.pairs.size(),
                                   .device_count = d.value.devices.size(),
                                   .root_would_add_count = d.value.rootWouldAdd.size()};
  });
}

bool rdmagpu_diagnosis_finding(const rdmagpu_diagnosis* diagnosis, size_t index, rdmagpu_finding* finding) {
  return diagnosis && get("rdmagpu_diagnosis_finding", diagnosis->value.findings, index, finding);
}

bool rdmagpu_diagnosis_pair(const rdmagpu_diagnosis* diagnosis, size_t index, rdmagpu_pair_verdict* pair) {
  return diagnosis && get("rdmagpu_diagnosis_pair", diagnosis->value.pairs, index, pair);
}

bool rdmagpu_diagnosis_device(const rdmagpu_diagnosis* diagnosis, size_t index,
                              rdmagpu_machine_device* device) {
  return diagnosis && get("rdmagpu_diagnosis_device", diagnosis->value.devices, index, device);
}

const char* rdmagpu_diagnosis_path(const rdmagpu_diagnosis* diagnosis, size_t device, size_t step) {
  return diagnosis && device < diagnosis->value.devices.size()
             ? textAt(diagnosis->value.devices[device].path, step)
             : nullptr;
}

const char* rdmagpu_diagnosis_root_would_add(const rdmagpu_diagnosis* diagnosis, size_t index) {
  return diagnosis ? textAt(diagnosis->value.rootWouldAdd, index) : nullptr;
}

size_t rdmagpu_finding_kind_count(void) { return findingKinds().size(); }

bool rdmagpu_finding_kind_get(size_t index, rdmagpu_finding_kind* kind) {
  return get("rdmagpu_finding_kind_get", findingKinds(), index, kind);
}

int rdmagpu_explain(const char* text, rdmagpu_explanations** explanations, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_explain";
  return capi::create(call, explanations, error, [&]() -> Result<std::vector<Explanation>> {
    if(const auto given = capi::checkPointers(call, text); !given)
      return given.error();
    return explain(text);
  });
}

void rdmagpu_explanations_destroy(rdmagpu_explanations* explanations) { delete explanations; }

size_t rdmagpu_explanations_count(const rdmagpu_explanations* explanations) {
  return explanations ? explanations->value.size() : 0;
}

bool rdmagpu_explanations_get(const rdmagpu_explanations* explanations, size_t index,
                              rdmagpu_explanation* explanation) {
  return explanations && get("rdmagpu_explanations_get", explanations->value, index, explanation);
}

} // extern "C"
