#pragma once
#include <capi/call.hpp>
#include <capi/convert.hpp>
#include <capi/objects.hpp>

namespace rdmagpu::capi {

/// Runs the body of a function that proves slots through a peer: `body` is given the buffer and the options.
template <class Peer, class Body>
int prove(const char* call, const Peer* peer, const rdmagpu_buffer* buffer,
          const rdmagpu_verify_options* options, rdmagpu_report** report, rdmagpu_error* error,
          Body body) noexcept {
  return create(call, report, error, [&]() -> Result<VerifyReport> {
    if(const auto given = checkPointers(call, peer, buffer); !given)
      return given.error();
    const auto wanted = readVerifyOptions(call, options);
    if(!wanted)
      return wanted.error();
    return body(buffer->value, *wanted);
  });
}

} // namespace rdmagpu::capi
