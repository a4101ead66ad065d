#include "verify/report.hpp"

#include "hints.hpp"
#include "human.hpp"
#include "memory_text.hpp"
#include "verify/block.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace rdmagpu::cli {
namespace {

const char* verdict(Answer answer) {
  switch(answer) {
  case Answer::Yes:
    return "proven";
  case Answer::No:
    return "failed";
  case Answer::Unknown:
    return "not-tried";
  }
  return "?";
}

const char* name(Direction direction) { return direction == Direction::Write ? "write" : "read"; }

std::string place(const VerifyFailure& failure) {
  const std::string where = fmt::format("{} of slot {}", name(failure.direction), failure.slot);
  if(failure.error.kind != Errc::None)
    return where + ": " + failure.error.message();
  if(failure.untouched)
    return where + ": nothing arrived, although the peer reported success";
  return fmt::format("{}: {} wrong bytes, the first at {}", where, failure.wrongBytes, failure.offset);
}

Json toJson(const VerifyFailure& failure) {
  return {{"slot", failure.slot},
          {"direction", name(failure.direction)},
          {"offset", failure.offset},
          {"wrong_bytes", failure.wrongBytes},
          {"untouched", failure.untouched},
          {"error", failure.error.kind == Errc::None
                        ? Json()
                        : cli::toJson(failureOf(failure.error, verifyConfigOptions))}};
}

Json toJson(const NicFacts& nic) {
  Json attempts = Json::array();
  for(const NicFacts::Attempt& attempt : nic.attempts)
    attempts.push_back({{"path", attempt.path},
                        {"error", attempt.error.kind == Errc::None
                                      ? Json()
                                      : cli::toJson(failureOf(attempt.error, verifyConfigOptions))}});
  return {{"device", nic.device},
          {"port", nic.port},
          {"gid_index", nic.gidIndex ? Json(*nic.gidIndex) : Json()},
          {"gid", nic.gid.empty() ? Json() : Json(nic.gid)},
          {"address", nic.address.empty() ? Json() : Json(nic.address)},
          {"path", nic.attempts.empty() ? Json() : Json(nic.attempts.back().path)},
          {"attempts", attempts},
          {"to", nic.to.empty() ? Json() : Json(nic.to)},
          {"pci", nic.pci.empty() ? Json() : Json(nic.pci)}};
}

std::string nicText(const NicFacts& nic) {
  std::string text = fmt::format("{}, port {}", nic.device, nic.port);
  if(nic.gidIndex)
    text += fmt::format(", GID {} ({})", *nic.gidIndex, nic.gid);
  if(!nic.address.empty())
    text += fmt::format(", {} (iWARP)", nic.address);
  return text;
}

/// The path that was taken, and a line for each that was tried before it.
std::string pathText(const NicFacts& nic) {
  std::string text = nic.attempts.back().path;
  for(std::size_t i = 0; i + 1 < nic.attempts.size(); ++i)
    text += fmt::format("\nnot by {}: {}", nic.attempts[i].path, nic.attempts[i].error.message());
  return text;
}

} // namespace

PeerFacts factsOf(const NicFacts& nic, Agent by) {
  return {
      .mover =
          fmt::format("RDMA of {}{}{}", nic.to.empty() ? "" : "the other host's NIC, through ", nic.device,
                      by == Agent::Device ? "" : ", a NIC in software: no hardware path is proven"),
      .hints = {"Run it with '--peer software' too: where that is proven, look at the path between the NIC "
                "and the memory with 'lspci -tv' and 'dmesg | grep -iE \"iommu|dmar|aer\"'."},
      .nic = nic};
}

PeerFacts softwareFacts(const BufferFacts& facts) {
  return {.mover = fmt::format("{}: this proves rdmagpu's own plumbing, and no third-party device",
                               moverName(facts)),
          .hints = {"Run it with '--api host' too: where that is proven, look at the GPU's own errors with "
                    "'nvidia-smi -q -d ECC' and 'dmesg | grep -iE \"nvrm|xid\"'."}};
}

std::optional<Failure> failureOf(const VerifyReport& report, const PeerFacts& peer) {
  for(const Error& error : {report.writeError, report.readError}) {
    if(error.kind != Errc::None && !isLeftOut(error))
      return cli::failureOf(error, verifyConfigOptions);
  }
  if(report.write == Answer::Yes && (report.read == Answer::Yes || isLeftOut(report.readError)))
    return {};
  constexpr std::size_t mostListed = 8;
  Failure failure{.kind = "Mismatch", .message = "the slots do not hold what was sent", .hints = peer.hints};
  const std::size_t shown = std::min(report.failures.size(), mostListed);
  for(std::size_t i = 0; i < shown; ++i)
    failure.message += "\n  " + place(report.failures[i]);
  if(shown < report.failures.size())
    failure.message += fmt::format("\n  ... {} more", report.failures.size() - shown);
  return failure;
}

std::string toText(const VerifyReport& report, const BufferFacts& facts, const PeerFacts& peer) {
  const std::optional<NicFacts>& nic = peer.nic;
  std::vector<std::pair<std::string, std::string>> lines{{"peer", report.peer}};
  if(nic) {
    lines.emplace_back("NIC", nicText(*nic));
    if(!nic->to.empty())
      lines.emplace_back("other host", nic->to);
    lines.emplace_back("registered by", pathText(*nic));
  }
  if(!peer.path.empty())
    lines.emplace_back("path", peer.path);
  lines.insert(lines.end(), {{"memory", memoryLine(facts)},
                             {"write", fmt::format("{} (peer -> {} slots, checked on the memory's side)",
                                                   verdict(report.write), report.slots)},
                             {"read", fmt::format("{} ({} slots -> peer, checked on the peer's side)",
                                                  verdict(report.read), report.slots)},
                             {"moved by", report.proof.by == Agent::None ? "nothing was moved" : peer.mover},
                             {"proof", proofText(report.proof)}});
  return factLines(lines);
}

Json toJson(const VerifyReport& report, RdmaGpuApi api, const PeerFacts& peer) {
  Json failures = Json::array();
  for(const VerifyFailure& failure : report.failures)
    failures.push_back(toJson(failure));
  return {{"api", name(api)},
          {"peer", report.peer},
          {"nic", peer.nic ? toJson(*peer.nic) : Json()},
          {"slots", report.slots},
          {"write", verdict(report.write)},
          {"read", verdict(report.read)},
          {"proof", cli::toJson(report.proof)},
          {"failures", failures}};
}

std::optional<Failure> failureOf(const NicService& service) {
  if(service.writeProven == Answer::Yes && service.readProven == Answer::Yes)
    return {};
  return Failure{.kind = "Mismatch",
                 .message = fmt::format("the other host says: write {}, read {}",
                                        verdict(service.writeProven), verdict(service.readProven)),
                 .hints = {"Look at what rdmagpu says there: it compares."}};
}

std::string toText(const NicService& service) {
  return factLines({{"client", service.client},
                    {"NIC", nicText(service.nic)},
                    {"write", fmt::format("{} (by this host's NIC to the client's slots: {})",
                                          verdict(service.writeProven), bytesText(service.written))},
                    {"read", fmt::format("{} (by this host's NIC from the client's slots: {})",
                                         verdict(service.readProven), bytesText(service.read))}});
}

Json toJson(const NicService& service) {
  return {{"client", service.client},
          {"nic", toJson(service.nic)},
          {"write", verdict(service.writeProven)},
          {"read", verdict(service.readProven)},
          {"written_bytes", service.written},
          {"read_bytes", service.read}};
}

} // namespace rdmagpu::cli
