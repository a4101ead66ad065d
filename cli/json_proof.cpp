#include "json.hpp"

namespace rdmagpu::cli {

Json toJson(const Proof& proof) {
  return {{"allocated", name(proof.allocated)},
          {"capable", name(proof.capable)},
          {"exported", name(proof.exported)},
          {"registered", name(proof.registered)},
          {"written", name(proof.written)},
          {"read", name(proof.read)},
          {"by", proof.by == Agent::None ? Json() : Json(name(proof.by))}};
}

} // namespace rdmagpu::cli
