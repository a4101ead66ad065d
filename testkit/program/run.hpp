#pragma once
#include <program/left_out.hpp>
#include <program/session.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::testkit {

/// The sequence of calls that a seed stands for changes with this number.
inline constexpr int generatorVersion = 2;

/// What of a machine the calls' answers depend on: "name value".
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts gatherFacts(const CudaApi&);

struct Plan {
  std::uint64_t seed = 1;
  std::size_t granularity = std::size_t{2} << 20; ///< What sizes are made of.
  bool onlyCold = false; ///< Only episodes in which nobody else retains the primary context.
};

/// Makes the calls of a seed, in episodes that start from nothing.
class Run {
public:
  Run(const CudaApi& cuda, const Plan& plan, const LeftOut& leftOut, Witness& witness)
      : m_cuda(&cuda), m_plan(plan), m_leftOut(&leftOut), m_witness(&witness) {}

  /// What precedes cuInit, as episode 0, and cuInit. False when the driver does not start.
  bool start();
  void setGranularity(std::size_t bytes) noexcept { m_plan.granularity = bytes; }
  /// Episode n, from 1. The number of calls; 0 when the driver does not work any more afterwards.
  std::size_t episode(std::size_t number);

private:
  bool keep();
  void unkeep();
  bool isHealthy() const;

  const CudaApi* m_cuda;
  Plan m_plan;
  const LeftOut* m_leftOut;
  Witness* m_witness;
  bool m_kept = false;
  api::Context m_primary{};
};

} // namespace rdmagpu::testkit
