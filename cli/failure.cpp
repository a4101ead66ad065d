#include "failure.hpp"

#include "json.hpp"
#include "output.hpp"

#include <rdmagpu/backends.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace rdmagpu::cli {
namespace {

const char* name(InputErrorKind kind) noexcept {
  switch(kind) {
  case InputErrorKind::BadValue:
    return "Usage";
  case InputErrorKind::Contradiction:
    return "Contradiction";
  case InputErrorKind::BadFormat:
    return "BadFormat";
  case InputErrorKind::Truncated:
    return "Truncated";
  case InputErrorKind::Empty:
    return "Empty";
  case InputErrorKind::Unsupported:
    return "Unsupported";
  case InputErrorKind::Io:
    return "Io";
  case InputErrorKind::Interrupted:
    return "Interrupted";
  }
  return "?";
}

} // namespace

Failure failureOf(const Error& error, std::span<const ConfigOption> options) {
  return {.kind = rdmagpu::name(error.kind),
          .origin = rdmagpu::name(error.origin),
          .call = error.call,
          .code = error.code,
          .codeName = error.codeName,
          .message = error.message(),
          .hints = hintsOf(error, options)};
}

Failure failureOf(const InputError& error) { return {.kind = name(error.kind), .message = error.message}; }

Failure usageFailure(const std::string& command, std::string message) {
  return {.kind = "Usage",
          .message = std::move(message),
          .hints = {
              fmt::format("'rdmagpu{}{} --help' lists what there is.", command.empty() ? "" : " ", command)}};
}

Failure withRingAdvice(Failure failure, const Error& error, std::uint32_t slots) {
  if(std::string_view(error.codeName) != "DeviceBudgetExceeded" || slots == 0 || error.bytes < slots)
    return failure;
  const std::uint64_t stride = error.bytes / slots;
  const std::uint64_t fit = error.available / stride;
  failure.hints.insert(failure.hints.begin(),
                       fit == 0 ? fmt::format("Ask for smaller slots: not one of {} bytes fits.", stride)
                                : fmt::format("Keep the ring shallow: {} slots of {} bytes fit (--slots {}).",
                                              fit, stride, fit));
  return failure;
}

Failure allocationFailure(const Error& error, RdmaGpuApi api, std::uint32_t slots,
                          std::span<const ConfigOption> options) {
  Failure failure = withRingAdvice(failureOf(error, options), error, slots);
  if(std::string_view(error.codeName) != "BackendAbsent")
    return failure;
  std::string present;
  for(const BackendInfo& backend : backends())
    present += fmt::format("{}{}", present.empty() ? "" : ", ", rdmagpu::name(backend.api));
  failure.message = fmt::format("this build has no {} backend: it has {}", rdmagpu::name(api), present);
  return failure;
}

void printFailure(const std::string& command, const Failure& failure) {
  std::string text = fmt::format("rdmagpu: {}{}{}\n", command, command.empty() ? "" : ": ", failure.message);
  for(const std::string& hint : failure.hints)
    text += fmt::format("  hint: {}\n", hint);
  std::fputs(text.c_str(), stderr);
}

int fail(const std::string& command, bool json, const Failure& failure, int exitCode) {
  printFailure(command, failure);
  if(json)
    // Whether or not this can be written, the failure stands and was told.
    static_cast<void>(writeOutput(jsonText({{"error", toJson(failure)}})));
  return exitCode;
}

} // namespace rdmagpu::cli
