#include <base/library_error.hpp>

#include <array>
#include <cstddef>

namespace rdmagpu {
namespace {

struct Row {
  Errc kind;
  const char* codeName;
  const char* finding;
  const char* rule;
};

constexpr std::array rows{
    Row{Errc::None, "", "", ""},
#define RDMAGPU_LIBRARY_ERROR(name, kind, finding, rule) Row{Errc::kind, #name, finding, rule},
#include <base/library_errors.def>
#undef RDMAGPU_LIBRARY_ERROR
};

} // namespace

Error libraryError(const char* call, LibraryCode code, std::uint64_t asked, std::uint64_t limit) noexcept {
  const Row& row = rows[static_cast<std::size_t>(code)];
  return {.kind = row.kind,
          .origin = Origin::Library,
          .code = static_cast<std::int64_t>(code),
          .call = call,
          .codeName = row.codeName,
          .finding = row.finding,
          .bytes = asked,
          .available = limit};
}

const char* libraryRule(std::int64_t code) noexcept {
  if(code <= 0 || code >= static_cast<std::int64_t>(rows.size()))
    return nullptr;
  return rows[static_cast<std::size_t>(code)].rule;
}

} // namespace rdmagpu
