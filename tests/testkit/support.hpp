#pragma once
#include <program/recorder.hpp>
#include <program/replayer.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

namespace rdmagpu::testkit {

inline Asked create() {
  return {.function = "cuMemCreate",
          .variant = "good",
          .arguments = Arguments{}("bytes", 5),
          .effect = Effect::ChangesState};
}
inline Asked ask() {
  return {.function = "cuDeviceGetAttribute", .variant = "good", .arguments = Arguments{}("attribute", 116)};
}

inline const Answer good{.status = api::Status::Success};
inline const Answer one{.status = api::Status::Success, .value = "1"};
inline const Answer zero{.status = api::Status::Success, .value = "0"};
inline const Answer invalid{.status = api::Status::InvalidValue};
inline const Answer unsupported{.status = api::Status::NotSupported};

/// A witness is told of a call as a session tells it.
inline bool tell(Witness& witness, const Asked& asked, const Answer& answer) {
  return witness.before(asked) && witness.after(asked, answer);
}

} // namespace rdmagpu::testkit
