#pragma once
#include <capi/convert.hpp>

namespace rdmagpu::capi {

/// Asks a callback of the caller's, which returns 0, or an rdmagpu_errc and fills the error that it is given.
template <class Callback, class... Arguments>
Result<void> ask(const char* call, Callback callback, Arguments... arguments) noexcept {
  rdmagpu_error error = toC(Error{.origin = Origin::Peer, .call = call});
  const int kind = callback(arguments..., &error);
  if(kind == RDMAGPU_OK)
    return {};
  Error told = fromC(error);
  told.kind = enumerator(kind, Errc::Internal).value_or(Errc::Internal);
  return told;
}

} // namespace rdmagpu::capi
