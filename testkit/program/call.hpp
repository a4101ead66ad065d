#pragma once
#include <program/cuda_api.hpp>

#include <cstdint>
#include <string>

namespace rdmagpu::testkit {

/// The text of a call's arguments. Addresses and handles go by the names that the model gives them.
class Arguments {
public:
  Arguments& operator()(const char* name, const std::string& value) {
    m_text += (m_text.empty() ? "" : " ") + std::string{name} + "=" + value;
    return *this;
  }
  Arguments& operator()(const char* name, const char* value) { return (*this)(name, std::string{value}); }
  template <class Number>
  Arguments& operator()(const char* name, Number value) {
    return (*this)(name, std::to_string(value));
  }
  const std::string& text() const noexcept { return m_text; }

private:
  std::string m_text;
};

/// Whether what the driver has afterwards depends on how the call ends.
enum class Effect : std::uint8_t { None, ChangesState };

/// A call about to be made.
struct Asked {
  const char* function;
  std::string variant; ///< What is right or wrong about the arguments.
  Arguments arguments{};
  Effect effect = Effect::None;
  /// Not to be made: what it names by a stale value exists again, as something else.
  bool reused = false;
  /// How a context stands that it needs: "" when there is one or none is needed, "+none", "+gone".
  const char* context = "";

  std::string base() const { return std::string{function} + "/" + variant; }
  std::string kind() const { return base() + context; }
};

/// What came of it: the status, and what else can be compared between two drivers.
struct Answer {
  api::Status status{};
  std::string value{};

  bool ok() const noexcept { return status == api::Status::Success; }
  std::string text() const {
    return std::to_string(static_cast<std::uint32_t>(status)) + (value.empty() ? "" : " ") + value;
  }
};

/// Listens to the calls of a run: writes them down, or compares them with what was written down.
class Witness {
public:
  Witness() = default;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  virtual ~Witness() = default;

  virtual void beginEpisode(std::size_t number, const char* kind) = 0;
  /// Before a call; false: it is not to be made.
  virtual bool before(const Asked&) = 0;
  /// After it; false: what follows would make no sense, the episode ends.
  virtual bool after(const Asked&, const Answer&) = 0;
  virtual void endEpisode() = 0;
};

} // namespace rdmagpu::testkit
