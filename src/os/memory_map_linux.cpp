#include <os/calls_linux.hpp>
#include <os/files.hpp>
#include <os/memory_map.hpp>

#include <algorithm>
#include <charconv>

namespace rdmagpu::os {
namespace {

std::string_view takeLine(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Takes a word and the blanks behind it off the front.
std::string_view takeWord(std::string_view& line) noexcept {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
  return word;
}

bool readNumber(std::string_view text, int base, std::uint64_t& value) noexcept {
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return status == std::errc{} && stop == text.data() + text.size();
}

/// A line such as "7f01a000-7f01b000 rw-s 00000000 00:01 1025   /memfd:rdmagpu (deleted)".
bool readHeader(std::string_view line, MemoryMapEntry& entry) {
  const std::string_view range = takeWord(line);
  const std::size_t dash = range.find('-');
  std::uint64_t begin{};
  std::uint64_t end{};
  if(dash == std::string_view::npos || !readNumber(range.substr(0, dash), 16, begin) ||
     !readNumber(range.substr(dash + 1), 16, end))
    return false;
  const std::string_view mode = takeWord(line);
  if(mode.size() < 4)
    return false;
  takeWord(line); // offset
  takeWord(line); // device
  std::uint64_t inode{};
  readNumber(takeWord(line), 10, inode);
  entry = {.begin = begin,
           .end = end,
           .readable = mode[0] == 'r',
           .writable = mode[1] == 'w',
           .shared = mode[3] == 's',
           .inode = inode,
           .path = std::string{line}};
  return true;
}

bool hasFlag(std::string_view flags, std::string_view flag) noexcept {
  while(!flags.empty()) {
    if(takeWord(flags) == flag)
      return true;
  }
  return false;
}

void readDetail(std::string_view line, MemoryMapEntry& entry) noexcept {
  if(line.starts_with("KernelPageSize:"))
    entry.pageBytes = numberAfter(line, "KernelPageSize:").value_or(0) * 1024;
  if(line.starts_with("VmFlags: ")) {
    const std::string_view flags = line.substr(9);
    entry.locked = hasFlag(flags, "lo");
    entry.device = hasFlag(flags, "pf") || hasFlag(flags, "io");
    entry.huge = hasFlag(flags, "ht");
  }
}

} // namespace

std::vector<MemoryMapEntry> parseSmaps(std::string_view text, std::uintptr_t begin, std::uintptr_t end) {
  std::vector<MemoryMapEntry> entries;
  bool wanted = false;
  while(!text.empty()) {
    const std::string_view line = takeLine(text);
    MemoryMapEntry entry;
    if(readHeader(line, entry)) {
      wanted = entry.begin < end && entry.end > begin;
      if(wanted)
        entries.push_back(std::move(entry));
    } else if(wanted) {
      readDetail(line, entries.back());
    }
  }
  return entries;
}

Result<std::vector<MemoryMapEntry>> mappingsIn(std::uintptr_t begin, std::uintptr_t end) {
  const auto text = readFile("/proc/self/smaps");
  if(!text)
    return text.error();
  return parseSmaps(*text, begin, end);
}

Result<std::size_t> residentBytes(std::uintptr_t begin, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(getpagesize());
  std::vector<unsigned char> present((bytes + page - 1) / page);
  void* address = reinterpret_cast<void*>(begin); // the number came from a pointer
  if(call::mincore(address, bytes, present.data()) != 0)
    return call::mincore.refusal(bytes);
  const auto in =
      std::count_if(present.begin(), present.end(), [](unsigned char p) { return (p & 1U) != 0; });
  return static_cast<std::size_t>(in) * page;
}

} // namespace rdmagpu::os
