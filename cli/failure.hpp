#pragma once
#include "frames/input_error.hpp"
#include "hints.hpp"

#include <rdmagpu/error.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rdmagpu::cli {

/// What main() returns. After a signal it is 128 plus the signal's number.
inline constexpr int exitDone = 0;
inline constexpr int exitNo = 1;    ///< A mismatch, no such backend, bad input, input and output.
inline constexpr int exitUsage = 2; ///< The command line itself is wrong.

/// A failure as the program reports it, whoever it came from: one line, what to do about it, and what a
/// program reading JSON may branch on.
struct Failure {
  std::string kind; ///< The library's Errc or the program's InputErrorKind by name, "Mismatch", ...
  std::string origin{"Program"};
  std::string call{};
  std::int64_t code{};
  std::string codeName{};
  std::string message;
  std::vector<std::string> hints{};
};

/// `options` are the command's, for the hints.
Failure failureOf(const Error& error, std::span<const ConfigOption> options = {});
Failure failureOf(const InputError& error);

/// A wrong command line, which ends in exitUsage.
Failure usageFailure(const std::string& command, std::string message);

/// Why a buffer of this API could not be made; a backend that this build lacks is told by name, beside
/// those that it has.
Failure allocationFailure(const Error& error, RdmaGpuApi api, std::uint32_t slots,
                          std::span<const ConfigOption> options);
/// Where so many slots were too much for a GPU: how many of them fit, as the first hint.
Failure withRingAdvice(Failure failure, const Error& error, std::uint32_t slots);

/// On stderr, as "rdmagpu: COMMAND: MESSAGE" and a line for each hint.
void printFailure(const std::string& command, const Failure& failure);

/// The end of a command that has nothing to show but its failure: printed, and with --json on stdout too.
int fail(const std::string& command, bool json, const Failure& failure, int exitCode = exitNo);

} // namespace rdmagpu::cli
