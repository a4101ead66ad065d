#pragma once
#include "frames/frame_reader.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace rdmagpu::cli::test {

/// What came out of an input: whole frames, then the end or an error.
struct ReadBack {
  std::vector<std::string> frames;
  std::optional<InputError> error;
};

inline ReadBack readAll(FrameReader& reader) {
  ReadBack result;
  std::string frame(reader.frameBytes(), '\0');
  for(;;) {
    const auto status = reader.read(std::as_writable_bytes(std::span(frame)));
    if(!status) {
      result.error = status.error();
      return result;
    }
    if(*status == FrameStatus::End)
      return result;
    result.frames.push_back(frame);
  }
}

/// Opens and reads to the end; the first failure is the result's.
inline ReadBack readAll(const std::string& path, const FrameOptions& options = {}) {
  const auto reader = openFrames(path, options);
  if(!reader)
    return {.frames = {}, .error = reader.error()};
  return readAll(**reader);
}

/// Fails the test unless the input ended in this kind of error with a message that has `text` in it.
inline void expectError(const std::optional<InputError>& error, InputErrorKind kind,
                        const std::string& text) {
  ASSERT_TRUE(error) << "no error, expected: " << text;
  EXPECT_EQ(error->kind, kind) << error->message;
  EXPECT_NE(error->message.find(text), std::string::npos) << error->message << "\nexpected: " << text;
}

template <class T>
std::optional<InputError> errorOf(const Expected<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

} // namespace rdmagpu::cli::test
