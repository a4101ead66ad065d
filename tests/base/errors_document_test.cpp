#include <rdmagpu/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace rdmagpu {
namespace {

/// docs/errors.md as the table in the library would have it.
std::string document() {
  std::ostringstream text;
  text << "# Errors and what to do about them\n\n"
          "The table behind `Error::hints()`, most likely cause first. An empty call stands for any call.\n"
          "Written by a test from `src/base/hints.def`: after a change there, run\n"
          "`RDMAGPU_WRITE_DOCUMENTS=1 ctest --preset release -R ErrorsDocument`.\n\n"
          "| from | call | code | finding | what to do |\n|---|---|---|---|---|\n";
  for(const Hint& hint : hintTable()) {
    text << "| " << name(hint.origin) << " | " << hint.call << " | " << hint.codeName << " | " << hint.finding
         << " | ";
    const char* separator = "";
    for(const char* sentence : hint.sentences) {
      text << separator << sentence;
      separator = "<br>";
    }
    text << " |\n";
  }
  return text.str();
}

TEST(ErrorsDocument, IsWhatTheTableSays) {
  const std::string path = RDMAGPU_SOURCE_DIR "/docs/errors.md";
  if(std::getenv("RDMAGPU_WRITE_DOCUMENTS"))
    std::ofstream{path} << document();
  std::ifstream file{path};
  const std::string found{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_EQ(found, document()) << path << " is stale: run this test with RDMAGPU_WRITE_DOCUMENTS=1";
}

} // namespace
} // namespace rdmagpu
