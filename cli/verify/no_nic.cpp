#include "output.hpp"
#include "verify/nic.hpp"

#include <fmt/core.h>

// A twin of nic.cpp, against style: without libibverbs there is nothing that could answer at run time.
namespace rdmagpu::cli {

std::variant<std::unique_ptr<Nic>, Failure> Nic::open(const VerifyOptions& options) {
  return Failure{
      .kind = "Unsupported",
      .message = fmt::format("--peer: this build has no peer {}: it was made without libibverbs",
                             quote(options.peer.text)),
      .hints = {"Install libibverbs-dev and build again, with -DRDMAGPU_BUILD_VERBS=ON to be told what "
                "is missing."}};
}

} // namespace rdmagpu::cli
