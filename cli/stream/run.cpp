#include "stream/run.hpp"

namespace rdmagpu::cli {

std::optional<Failure> failureBehind(const StreamParts& parts) {
  if(const auto failure = parts.feed.failure(); failure && failure->kind != InputErrorKind::Interrupted)
    return failureOf(*failure);
  if(const Error error = parts.slots.copyError(); error.kind != Errc::None)
    return failureOf(error);
  if(const Error error = parts.peer.counters().error; error.kind != Errc::None)
    return failureOf(error);
  return {};
}

} // namespace rdmagpu::cli
