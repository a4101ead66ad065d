#include <rdmagpu/doctor.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace rdmagpu {
namespace {

constexpr const char* marker = "<!-- Below is what src/doctor/checks.def has. -->\n";

std::string table() {
  std::ostringstream text;
  text << "\n| finding | severity | what is so | what to do | risk |\n|---|---|---|---|---|\n";
  for(const FindingKind& kind : findingKinds())
    text << "| " << kind.id << " | " << name(kind.severity) << " | " << kind.title << " | " << kind.fix
         << " | " << kind.risk << " |\n";
  return text.str();
}

TEST(DoctorDocument, HasTheTableOfFindings) {
  const std::string path = RDMAGPU_SOURCE_DIR "/docs/doctor.md";
  std::ifstream file{path};
  const std::string found{std::istreambuf_iterator<char>{file}, {}};
  const std::size_t at = found.find(marker);
  ASSERT_NE(at, std::string::npos);
  const std::string wanted = found.substr(0, at) + marker + table();
  if(std::getenv("RDMAGPU_WRITE_DOCUMENTS")) {
    std::ofstream{path} << wanted;
    return;
  }
  EXPECT_EQ(found, wanted) << path << " is stale: run this test with RDMAGPU_WRITE_DOCUMENTS=1";
}

TEST(Findings, HaveIdsOfTheirOwnAndATitleInOneLine) {
  std::set<std::string> ids;
  for(const FindingKind& kind : findingKinds()) {
    EXPECT_TRUE(ids.insert(kind.id).second) << kind.id;
    EXPECT_NE(std::string{kind.title}, "") << kind.id;
    EXPECT_EQ(std::string{kind.title}.find('\n'), std::string::npos) << kind.id;
  }
}

TEST(Findings, ThatBlockSayWhatToDo) {
  for(const FindingKind& kind : findingKinds()) {
    if(kind.severity != Severity::Note) {
      EXPECT_NE(std::string{kind.fix}, "") << kind.id;
    }
  }
}

} // namespace
} // namespace rdmagpu
