#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::doctor {

class Recording;

/// The files of a machine: this one's, or a recorded one's under a folder. What cannot be read is absent.
class Root {
public:
  /// The recording, where given, gets all that is read, and outlives this.
  explicit Root(std::string prefix, Recording* recording = nullptr);

  std::optional<std::string> read(const std::string& path, std::size_t most = 64 * 1024) const;
  /// The first line, without spaces at its ends; empty where there is none.
  std::string line(const std::string& path) const;
  /// The number that the file holds, in decimal or, with 0x, in hexadecimal.
  std::optional<std::int64_t> number(const std::string& path) const;
  /// What a directory holds, as far as it begins with that.
  std::vector<std::string> names(const std::string& path, std::string_view beginning = {}) const;
  /// The last part of a symbolic link's target.
  std::string linkName(const std::string& path) const;
  std::string link(const std::string& path) const;
  bool has(const std::string& path) const;
  const std::string& prefix() const noexcept { return m_prefix; }

private:
  std::string m_prefix;
  Recording* m_recording;
};

std::string_view trim(std::string_view text) noexcept;
/// The words of a text, apart by spaces.
std::vector<std::string_view> words(std::string_view text);
std::vector<std::string_view> lines(std::string_view text);
std::optional<std::int64_t> toNumber(std::string_view text) noexcept;

} // namespace rdmagpu::doctor
