#pragma once
#include <doctor/machine.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmagpu::doctor {

constexpr std::uint8_t bit(Route route) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(route));
}

/// The step that shows, where it went well, that a finding is none. Transfer: Write and Read.
enum class SettledBy : std::uint8_t {
  Nothing,
  DriverLibrary,
  Device,
  Attributes,
  Allocation,
  Reach,
  Export,
  Registration,
  Transfer,
};

struct Check {
  const char* id;
  Severity severity;
  std::uint8_t routes;
  Verdict verdict;
  SettledBy settledBy;
  const char* title;
  const char* fix;
  const char* risk;
};

std::span<const Check> allChecks() noexcept;

/// What a finding is about; an empty name stands for all.
struct Subject {
  std::string gpu{};
  std::string peer{};
  std::string shown{};          ///< What stands for "{}"; else the peer, else the GPU.
  std::optional<Route> route{}; ///< Empty: all of the check's.
  bool told = true;             ///< Whether it is worth a line, or only counts.
};

struct Found {
  const Check* check;
  Subject subject;
};

/// Collects findings by their ids, which are those of checks.def.
class Findings {
public:
  explicit Findings(std::vector<DoctorStep> tried) : steps(std::move(tried)) {}
  void add(std::string_view id, std::string evidence, const Subject& subject = {});

  std::vector<DoctorStep> steps;
  std::vector<Finding> told{}; ///< One for each that was found.
  std::vector<Found> found{};
};

void checkPlatform(const Machine&, Findings&);
void checkGpus(const Machine&, Findings&);
void checkNvidia(const Machine&, Findings&);
void checkKernel(const Machine&, Findings&);
void checkIommu(const Machine&, Findings&);
void checkTopology(const Machine&, Findings&);
void checkRdma(const Machine&, Findings&);
void checkProcess(const Machine&, Findings&);
void checkCards(const Machine&, Findings&);
void checkSteps(const Machine&, Findings&);

/// The verdict on one route; an empty peer is any.
Verdict verdictOn(const Findings&, const std::string& gpu, const std::string& peer, Route) noexcept;

/// The verdict on each GPU, peer and route, by what was found.
std::vector<PairVerdict> judge(const Machine&, const Findings&);

/// Whether what was tried shows that the check's finding is none, of that GPU, peer and route.
bool isSettled(const Findings&, const Check&, const std::string& gpu, const std::string& peer,
               Route) noexcept;
/// The findings that are worth a line: not those that what was tried has settled for all that they are about.
std::vector<Finding> worthTelling(const Machine&, const Findings&);

bool isNvidia(const Gpu&) noexcept;

} // namespace rdmagpu::doctor
