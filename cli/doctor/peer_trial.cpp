#include "peer_trial.hpp"

#include <rdmagpu/verbs_trial.hpp>

namespace rdmagpu::cli {

std::unique_ptr<PeerTrial> peerTrial() { return std::make_unique<VerbsTrial>(); }

} // namespace rdmagpu::cli
