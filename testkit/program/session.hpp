#pragma once
#include <program/left_out.hpp>
#include <program/model.hpp>
#include <program/random.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace rdmagpu::testkit {

/// One episode: random calls on what they have made so far. It starts from nothing and leaves nothing.
class Session {
public:
  Session(const CudaApi& driver, std::uint64_t seed, Witness& witness, const LeftOut& leftOut)
      : cuda(driver.functions), cudaApi(driver), random(seed), m_witness(&witness), m_leftOut(&leftOut) {}

  const api::Functions& cuda;
  const CudaApi& cudaApi;
  Random random;
  Model model;

  /// Makes the call, unless it is left out. `invoke` fills in what is to be compared beside the status.
  /// Nothing is returned when it was not made.
  template <class Invoke>
  std::optional<Answer> call(const Asked& asked, Invoke invoke) {
    if(m_ended || m_leftOut->contains(asked.base()))
      return {};
    ++m_calls;
    if(!m_witness->before(asked))
      return {};
    Answer answer;
    answer.status = invoke(answer.value);
    m_ended = !m_witness->after(asked, answer);
    return answer;
  }
  /// The same where success is all that matters to what follows.
  template <class Invoke>
  bool succeeds(const Asked& asked, Invoke invoke) {
    const auto answer = call(asked, invoke);
    return answer && answer->ok();
  }

  std::size_t calls() const noexcept { return m_calls; }
  bool ended() const noexcept { return m_ended; }
  /// For a success after which it is not known what exists.
  void end() noexcept { m_ended = true; }
  int newId() noexcept { return ++model.lastId; }

  /// Somewhere to point a call at: most often where it is allowed.
  Place pickPlace();
  /// Gives back all that the episode made, without recording it.
  void cleanUp();

private:
  Place pickAnyPlace();
  Place pickMapped(api::AccessFlags access, const char* kind);
  Place pickHole();

  Witness* m_witness;
  const LeftOut* m_leftOut;
  std::size_t m_calls{};
  bool m_ended{};
};

inline constexpr std::size_t hostBytes = std::size_t{1} << 20;
/// Host memory that copies read and write.
std::byte* hostBuffer() noexcept;

} // namespace rdmagpu::testkit
