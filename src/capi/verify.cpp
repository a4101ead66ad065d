#include <capi/call.hpp>
#include <capi/callback.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

namespace {

/// A peer that C's callbacks are.
class CallbackPeer final : public Peer {
public:
  CallbackPeer(const rdmagpu_peer& peer, Agent agent) noexcept : m_peer(peer), m_agent(agent) {}
  const char* name() const noexcept override { return m_peer.name ? m_peer.name : ""; }
  Agent agent() const noexcept override { return m_agent; }

  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override {
    constexpr const char* call = "rdmagpu_peer::write";
    if(!m_peer.write)
      return libraryError(call, LibraryCode::PeerTransferMissing);
    return capi::ask(call, m_peer.write, m_peer.context, slot, bytes.data(), bytes.size());
  }
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override {
    constexpr const char* call = "rdmagpu_peer::read";
    if(!m_peer.read)
      return libraryError(call, LibraryCode::PeerTransferMissing);
    return capi::ask(call, m_peer.read, m_peer.context, slot, bytes.data(), bytes.size());
  }

private:
  rdmagpu_peer m_peer;
  Agent m_agent;
};

Result<VerifyReport> verifyWith(const RdmaGpuBuffer& buffer, const rdmagpu_peer* from,
                                const VerifyOptions& options) {
  if(!from)
    return verify(buffer, options);
  const auto c = capi::read("rdmagpu_verify", from);
  if(!c)
    return c.error();
  const auto agent = capi::enumerator(c->agent, Agent::Device);
  if(!agent)
    return libraryError("rdmagpu_peer::agent", LibraryCode::ValueUnknown,
                        static_cast<std::uint32_t>(c->agent), RDMAGPU_AGENT_DEVICE);
  CallbackPeer peer(*c, *agent);
  return verify(buffer, peer, options);
}

} // namespace

extern "C" {

int rdmagpu_verify(const rdmagpu_buffer* buffer, const rdmagpu_peer* peer,
                   const rdmagpu_verify_options* options, rdmagpu_report** report, rdmagpu_error* error) {
  return capi::create("rdmagpu_verify", report, error, [&]() -> Result<VerifyReport> {
    if(const auto given = capi::checkPointers("rdmagpu_verify", buffer); !given)
      return given.error();
    const auto wanted = capi::readVerifyOptions("rdmagpu_verify", options);
    if(!wanted)
      return wanted.error();
    return verifyWith(buffer->value, peer, *wanted);
  });
}

void rdmagpu_report_destroy(rdmagpu_report* report) { delete report; }

int rdmagpu_report_facts_of(const rdmagpu_report* report, rdmagpu_report_facts* facts, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_report_facts_of";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, report); !given)
      return given;
    const VerifyReport& value = report->value;
    return capi::write(call,
                       rdmagpu_report_facts{.struct_size = 0,
                                            .slots = value.slots,
                                            .peer = report->peer.c_str(),
                                            .write = static_cast<int32_t>(value.write),
                                            .read = static_cast<int32_t>(value.read),
                                            .failure_count = value.failures.size()},
                       facts);
  });
}

int rdmagpu_report_proof(const rdmagpu_report* report, rdmagpu_proof* proof, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_report_proof";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, report); !given)
      return given;
    return capi::write(call, capi::toC(report->value.proof), proof);
  });
}

int rdmagpu_report_reason(const rdmagpu_report* report, bool read, rdmagpu_error* reason,
                          rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_report_reason";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, report); !given)
      return given;
    const VerifyReport& value = report->value;
    return capi::write(call, capi::toC(read ? value.readError : value.writeError), reason);
  });
}

bool rdmagpu_report_failure(const rdmagpu_report* report, size_t index, rdmagpu_verify_failure* failure,
                            rdmagpu_error* cause) {
  if(!report || index >= report->value.failures.size())
    return false;
  const VerifyFailure& found = report->value.failures[index];
  if(cause && !capi::write("rdmagpu_report_failure", capi::toC(found.error), cause))
    return false;
  return capi::write("rdmagpu_report_failure",
                     rdmagpu_verify_failure{.struct_size = 0,
                                            .slot = found.slot,
                                            .read = found.direction == Direction::Read ? 1U : 0U,
                                            .untouched = found.untouched ? 1U : 0U,
                                            .offset = found.offset,
                                            .wrong_bytes = found.wrongBytes},
                     failure)
      .has_value();
}

} // extern "C"
