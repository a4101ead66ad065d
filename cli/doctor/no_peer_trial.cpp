#include "peer_trial.hpp"

// A twin of peer_trial.cpp, against style, as verify/no_nic.cpp is.
namespace rdmagpu::cli {

std::unique_ptr<PeerTrial> peerTrial() { return nullptr; }

} // namespace rdmagpu::cli
