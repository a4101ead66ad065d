#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::testkit {

/// Whether a kind of call, such as "cuMemRelease/stale-handle", is one of those that a pattern names; *
/// stands for any text.
bool matches(std::string_view pattern, std::string_view kind) noexcept;

/// Kinds of calls that are not made, as patterns.
class LeftOut {
public:
  void add(std::string pattern) { m_patterns.push_back(std::move(pattern)); }
  bool contains(std::string_view kind) const noexcept;
  const std::vector<std::string>& patterns() const noexcept { return m_patterns; }

private:
  std::vector<std::string> m_patterns;
};

/// What a driver need not answer with a status: each is tried in a process of its own before it takes part.
const std::vector<std::string>& riskyPatterns();

/// Those that need episodes in which nobody else retains the primary context.
bool needsColdEpisodes(std::string_view pattern) noexcept;

} // namespace rdmagpu::testkit
