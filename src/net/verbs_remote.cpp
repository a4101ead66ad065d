#include <base/guarded.hpp>
#include <net/verbs_link.hpp>
#include <os/error.hpp>
#include <rdmagpu/verbs_remote.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu {
namespace {

constexpr const char* call = "VerbsRemote";

/// The Error that the other host had.
Result<void> resultOf(const net::Reply& reply, net::Ask ask) noexcept {
  const auto code = static_cast<int>(reply.code);
  switch(reply.outcome) {
  case net::Outcome::Done:
    return {};
  case net::Outcome::PostFailed:
    return os::error(Origin::Verbs, "ibv_post_send", code);
  case net::Outcome::PollFailed:
    return os::error(Origin::Verbs, "ibv_poll_cq", code);
  case net::Outcome::Completion:
    break;
  }
  return net::transferFailure(ask == net::Ask::Write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, code);
}

} // namespace

struct VerbsRemote::Impl {
  const VerbsRegistration& slots;
  net::Link link;
  std::string name;
  VerbsPort port;
  bool broken{}; ///< The queue pairs are in the error state.

  Result<void> ask(const net::Request& request, std::span<const std::byte> bytes = {}) {
    if(const auto sent = link.send(net::encode(request)); !sent)
      return sent;
    return link.send(bytes);
  }

  Result<void> mend() {
    if(!broken)
      return {};
    if(const auto asked = ask({.ask = net::Ask::Again}); !asked)
      return asked;
    if(const auto done = link.connectPairs(); !done)
      return done;
    broken = false;
    return {};
  }

  /// One message's worth, in one of the two directions.
  Result<void> move(net::Ask direction, std::uint32_t slot, std::size_t at, std::span<const std::byte> out,
                    std::span<std::byte> in) {
    const auto remote = slots.remoteAddress(slot);
    if(!remote)
      return libraryError(call, LibraryCode::SlotOutOfRange, slot);
    if(const auto whole = mend(); !whole)
      return whole;
    const auto bytes = static_cast<std::uint32_t>(std::max(out.size(), in.size()));
    if(const auto asked = ask({direction, bytes, *remote + at, slots.rkey()}, out); !asked)
      return asked;
    std::array<std::byte, net::replyBytes> message{};
    // The transfer has a limit of its own.
    if(const auto got = link.await(message); !got)
      return got;
    const auto reply = net::decodeReply(message);
    if(!reply)
      return reply.error();
    if(const auto done = resultOf(*reply, direction); !done) {
      broken = true;
      return done;
    }
    return link.receive(in);
  }
};

VerbsRemote::VerbsRemote(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
VerbsRemote::~VerbsRemote() = default;
VerbsRemote::VerbsRemote(VerbsRemote&&) noexcept = default;
VerbsRemote& VerbsRemote::operator=(VerbsRemote&&) noexcept = default;

Result<VerbsRemote> VerbsRemote::connect(const VerbsRegistration& slots, const std::string& host,
                                         std::uint16_t tcpPort, const VerbsRemoteOptions& options) {
  return guarded(call, [&]() -> Result<VerbsRemote> {
    if(!slots.valid())
      return libraryError(call, LibraryCode::BufferEmpty);
    auto socket = os::connectTo(host, tcpPort, options.timeout);
    if(!socket)
      return socket.error();
    ibv_pd* domain = slots.native()->pd;
    auto impl =
        std::make_unique<Impl>(Impl{.slots = slots,
                                    .link = net::Link{domain, options, *std::move(socket), net::Role::Client},
                                    .name = std::string{"verbs:"} + domain->context->device->name,
                                    .port = {}});
    if(const auto done = impl->link.connectPairs(); !done)
      return done.error();
    impl->port = impl->link.pair().port();
    return VerbsRemote{std::move(impl)};
  });
}

const char* VerbsRemote::name() const noexcept { return m_impl->name.c_str(); }
Agent VerbsRemote::agent() const noexcept {
  return m_impl->link.hardware() ? Agent::Device : Agent::Software;
}
const VerbsPort& VerbsRemote::port() const noexcept { return m_impl->port; }

Result<void> VerbsRemote::write(std::uint32_t slot, std::span<const std::byte> bytes) {
  for(std::size_t at = 0; at < bytes.size();) {
    const auto part = bytes.subspan(at, std::min<std::size_t>(bytes.size() - at, m_impl->link.maxMessage()));
    if(const auto done = m_impl->move(net::Ask::Write, slot, at, part, {}); !done)
      return done;
    at += part.size();
  }
  return {};
}

Result<void> VerbsRemote::read(std::uint32_t slot, std::span<std::byte> bytes) {
  for(std::size_t at = 0; at < bytes.size();) {
    const auto part = bytes.subspan(at, std::min<std::size_t>(bytes.size() - at, m_impl->link.maxMessage()));
    if(const auto done = m_impl->move(net::Ask::Read, slot, at, {}, part); !done)
      return done;
    at += part.size();
  }
  return {};
}

Result<void> VerbsRemote::finish(Answer written, Answer read) {
  const auto verdict = static_cast<std::uint64_t>(written) << 8U | static_cast<std::uint64_t>(read);
  return m_impl->ask({.ask = net::Ask::End, .bytes = 0, .address = verdict, .rkey = 0});
}

} // namespace rdmagpu
