#include "hints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace rdmagpu::cli {
namespace {

/// Of the hints' fields, those that no option sets.
constexpr std::array<std::string_view, 17> withoutOption{
    "vulkanCtx",          "copyThrough",
    "bufferType",         "bufferTypeCount",
    "dataDirect",         "gidIndex",
    "onDemand",           "relaxedOrdering",
    "enabledExtensions",  "externalMemoryRDMA",
    "externalMemoryRdma", "queueFamily",
    "vkCreateDevice",     "vkGetPhysicalDeviceExternalBufferProperties",
    "alsoVulkan",         "cuMemAlloc",
    "deviceUUID"};

/// An error that has these hints, of the library itself.
Error errorOf(std::string_view codeName) {
  for(const Hint& hint : hintTable()) {
    if(hint.origin == Origin::Library && hint.codeName == codeName)
      return {.kind = Errc::Unsupported, .origin = hint.origin, .code = hint.code, .call = hint.call};
  }
  ADD_FAILURE() << "no hint for " << codeName;
  return {};
}

std::vector<std::string_view> wordsOf(std::string_view sentence) {
  std::vector<std::string_view> words;
  for(std::string_view word; !(word = libraryWord(sentence)).empty();) {
    words.push_back(word);
    sentence = {word.end(), sentence.end()};
  }
  return words;
}

std::vector<std::string_view> wordsOfAllHints() {
  std::vector<std::string_view> all;
  for(const Hint& hint : hintTable()) {
    for(const char* sentence : hint.sentences) {
      const auto words = wordsOf(sentence);
      all.insert(all.end(), words.begin(), words.end());
    }
  }
  return all;
}

TEST(Hints, FieldsOfTheConfigAreTheCommandsOptions) {
  EXPECT_EQ(hintsOf(errorOf("BudgetExceeded"), allocConfigOptions),
            (std::vector<std::string>{"Ask for fewer or smaller slots.",
                                      "Raise the memory limit of the container or cgroup.",
                                      "Set --ignore-budget to try all the same."}));
  EXPECT_EQ(hintsOf(errorOf("NotMemfd"), allocConfigOptions).front(), "Leave --no-memfd out.");
}

TEST(Hints, ValuesAreSpeltAsTheOptionsTakeThem) {
  EXPECT_EQ(hintsOf(errorOf("AccessPerContext"), allocConfigOptions).front(), "Set --cuda-memory to vmm.");
  const Error noVmm{.kind = Errc::Unsupported, .origin = Origin::Cuda, .code = 801, .call = "cuMemCreate"};
  EXPECT_TRUE(
      hintsOf(noVmm, allocConfigOptions).front().starts_with("Set --cuda-memory to mem-alloc, or to auto:"));
}

TEST(Hints, WhatACommandHasNoOptionForIsLeftOut) {
  EXPECT_EQ(hintsOf(errorOf("BudgetExceeded")),
            (std::vector<std::string>{"Ask for fewer or smaller slots.",
                                      "Raise the memory limit of the container or cgroup."}));
}

TEST(Hints, AnErrorWithoutHintsHasNone) { EXPECT_TRUE(hintsOf(Error{}, allocConfigOptions).empty()); }

TEST(Hints, WordsOfTheLibraryAreToldFromThoseOfTheSystem) {
  const auto none = std::vector<std::string_view>{};
  EXPECT_EQ(wordsOf("Set one, or twoWords; call three() (fourWords)."),
            (std::vector<std::string_view>{"twoWords", "three()", "fourWords"}));
  EXPECT_EQ(wordsOf("Set LimitMEMLOCK=infinity, vm.nr_hugepages=N, CAP_IPC_LOCK, memfd_create, Above 4G "
                    "Decoding, 'usermod -aG kvm'"),
            none);
  EXPECT_EQ(wordsOf(""), none);
}

TEST(Hints, EveryFieldThatAHintNamesIsMapped) {
  for(const std::string_view word : wordsOfAllHints()) {
    const bool known = word.ends_with("()") || std::ranges::count(withoutOption, word) != 0 ||
                       std::ranges::count(allocConfigOptions, word, &ConfigOption::field) != 0;
    EXPECT_TRUE(known) << word << ": name its option in cli/hints.hpp, or say above that it has none";
  }
}

/// Findings of which only a program that uses the library can be the cause.
constexpr std::array<std::string_view, 1> ofProgrammers{"context-gone"};

TEST(Hints, EveryFailureOfTheSystemOrADriverHasAHintInTheProgram) {
  for(const Hint& hint : hintTable()) {
    // The program registers nothing with a NIC.
    if(hint.origin == Origin::Library || hint.origin == Origin::Verbs ||
       std::ranges::count(ofProgrammers, hint.finding) != 0)
      continue;
    const Error error{.kind = Errc::Internal, .origin = hint.origin, .code = hint.code, .call = hint.call};
    EXPECT_FALSE(hintsOf(error, allocConfigOptions).empty()) << hint.call << " " << hint.codeName;
  }
}

TEST(Hints, EveryMappedFieldIsNamedByAHint) {
  const auto words = wordsOfAllHints();
  for(const ConfigOption& known : allocConfigOptions)
    EXPECT_NE(std::ranges::count(words, known.field), 0) << known.field;
}

} // namespace
} // namespace rdmagpu::cli
