#pragma once
#include <doctor/machine.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::doctor {

constexpr std::uint8_t bit(Route route) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(route));
}

struct Check {
  const char* id;
  Severity severity;
  std::uint8_t routes;
  Verdict verdict;
  const char* title;
  const char* fix;
  const char* risk;
};

std::span<const Check> allChecks() noexcept;

/// What a finding is about; an empty name stands for all.
struct Subject {
  std::string gpu{};
  std::string peer{};
  std::string shown{}; ///< What stands for "{}"; else the peer, else the GPU.
};

struct Found {
  const Check* check;
  Subject subject;
};

/// Collects findings by their ids, which are those of checks.def.
class Findings {
public:
  void add(std::string_view id, std::string evidence, const Subject& subject = {});

  std::vector<Finding> told{};
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

/// The verdict on one route; an empty peer is any.
Verdict verdictOn(const Findings&, const std::string& gpu, const std::string& peer, Route) noexcept;

/// The verdict on each GPU, peer and route, by what was found.
std::vector<PairVerdict> judge(const Machine&, const Findings&);

bool isNvidia(const Gpu&) noexcept;

} // namespace rdmagpu::doctor
