#pragma once
#include <rdmagpu/error.hpp>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::cli {

/// The option that sets a field of the library's config.
struct ConfigOption {
  std::string_view field;
  std::string_view option;
};

/// Those fields that hints name, for `stream`.
inline constexpr std::array streamConfigOptions{
    ConfigOption{"cudaMemory", "--cuda-memory"},
    ConfigOption{"gpuPin", "--pin-gpu"},
    ConfigOption{"slotCount", "--slots"},
};

/// The same for `verify`.
inline constexpr std::array verifyConfigOptions{
    ConfigOption{"cudaMemory", "--cuda-memory"},
    ConfigOption{"frameBytes", "--bytes"},
    ConfigOption{"gidIndex", "--gid"},
    ConfigOption{"slotCount", "--slots"},
};

/// The same for `alloc`.
inline constexpr std::array allocConfigOptions{
    ConfigOption{"cudaMemory", "--cuda-memory"},
    ConfigOption{"forbidMemfd", "--no-memfd"},
    ConfigOption{"frameBytes", "--bytes"},
    ConfigOption{"gpuPin", "--pin-gpu"},
    ConfigOption{"ignoreBudget", "--ignore-budget"},
    ConfigOption{"pcieMapping", "--pcie-mapping"},
    ConfigOption{"slotCount", "--slots"},
};

/// What to do about an error, in the program's words: for a field of the config its option. A sentence about
/// a field without an option here, or about a function, is for programmers and is left out.
std::vector<std::string> hintsOf(const Error& error, std::span<const ConfigOption> options = {});

/// A word that means something in the library only: a field of the config, or a function, which ends in "()".
/// Empty when there is none in the text.
std::string_view libraryWord(std::string_view text) noexcept;

} // namespace rdmagpu::cli
