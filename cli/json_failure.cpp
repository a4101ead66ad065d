#include "json.hpp"

namespace rdmagpu::cli {

Json toJson(const Failure& failure) {
  return {{"kind", failure.kind},      {"origin", failure.origin},      {"call", failure.call},
          {"code", failure.code},      {"code_name", failure.codeName}, {"hints", Json(failure.hints)},
          {"message", failure.message}};
}

} // namespace rdmagpu::cli
