#include <capi/call.hpp>
#include <capi/objects.hpp>
#include <capi/prove.hpp>
#include <capi/verbs_objects.hpp>

#include <chrono>
#include <limits>

using namespace rdmagpu;

namespace {

static_assert(verbsRemotePort == RDMAGPU_VERBS_REMOTE_PORT);

Result<VerbsRemoteOptions> readOptions(const char* call, const rdmagpu_verbs_peer_options* from) noexcept {
  VerbsRemoteOptions options;
  if(!from)
    return options;
  const auto c = capi::read(call, from);
  if(!c)
    return c.error();
  if(c->port > std::numeric_limits<std::uint8_t>::max())
    return libraryError("rdmagpu_verbs_peer_options::port", LibraryCode::ValueUnknown, c->port,
                        std::numeric_limits<std::uint8_t>::max());
  if(const auto good = capi::checkBits("rdmagpu_verbs_peer_options::has_gid_index", c->has_gid_index, 1);
     !good)
    return good.error();
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if(c->timeout_ms < 0 || c->timeout_ms > most)
    return libraryError("rdmagpu_verbs_peer_options::timeout_ms", LibraryCode::ValueUnknown,
                        static_cast<std::uint64_t>(c->timeout_ms), most);
  if(c->port != 0)
    options.port = static_cast<std::uint8_t>(c->port);
  if(c->has_gid_index != 0)
    options.gidIndex = c->gid_index;
  if(c->timeout_ms != 0)
    options.timeout = std::chrono::milliseconds{c->timeout_ms};
  return options;
}

rdmagpu_verbs_port toC(const VerbsPort& port) noexcept {
  return {.struct_size = 0,
          .port = port.port,
          .has_gid_index = port.gidIndex ? 1U : 0U,
          .gid_index = port.gidIndex.value_or(0),
          .device = port.device.c_str(),
          .gid = port.gid.c_str()};
}

} // namespace

extern "C" {

int rdmagpu_verbs_loopback_create(const rdmagpu_verbs_registration* registration,
                                  const rdmagpu_verbs_peer_options* options, rdmagpu_verbs_peer** peer,
                                  rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_loopback_create";
  return capi::create(call, peer, error, [&]() -> Result<VerbsLoopback> {
    if(const auto given = capi::checkPointers(call, registration); !given)
      return given.error();
    const auto wanted = readOptions(call, options);
    if(!wanted)
      return wanted.error();
    return VerbsLoopback::make(registration->value, {.port = wanted->port, .gidIndex = wanted->gidIndex});
  });
}

int rdmagpu_verbs_remote_connect(const rdmagpu_verbs_registration* registration, const char* host,
                                 uint16_t tcpPort, const rdmagpu_verbs_peer_options* options,
                                 rdmagpu_verbs_peer** peer, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_remote_connect";
  return capi::create(call, peer, error, [&]() -> Result<VerbsRemote> {
    if(const auto given = capi::checkPointers(call, registration, host); !given)
      return given.error();
    const auto wanted = readOptions(call, options);
    if(!wanted)
      return wanted.error();
    return VerbsRemote::connect(registration->value, host, tcpPort, *wanted);
  });
}

void rdmagpu_verbs_peer_destroy(rdmagpu_verbs_peer* peer) { delete peer; }

const char* rdmagpu_verbs_peer_name(const rdmagpu_verbs_peer* peer) {
  return peer ? peer->peer().name() : nullptr;
}

int32_t rdmagpu_verbs_peer_agent(const rdmagpu_verbs_peer* peer) {
  return peer ? static_cast<int32_t>(peer->peer().agent()) : RDMAGPU_AGENT_NONE;
}

int rdmagpu_verbs_peer_port(const rdmagpu_verbs_peer* peer, rdmagpu_verbs_port* port, rdmagpu_error* error) {
  return capi::fill("rdmagpu_verbs_peer_port", peer, port, error,
                    [](const rdmagpu_verbs_peer& p) { return toC(p.port()); });
}

int rdmagpu_verbs_peer_write(rdmagpu_verbs_peer* peer, uint32_t slot, const void* from, size_t bytes,
                             rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_peer_write";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes(call, peer, from, bytes); !given)
      return given;
    return peer->peer().write(slot, capi::bytesAt(from, bytes));
  });
}

int rdmagpu_verbs_peer_read(rdmagpu_verbs_peer* peer, uint32_t slot, void* to, size_t bytes,
                            rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_peer_read";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes(call, peer, to, bytes); !given)
      return given;
    return peer->peer().read(slot, capi::bytesAt(to, bytes));
  });
}

int rdmagpu_verbs_peer_verify(rdmagpu_verbs_peer* peer, const rdmagpu_buffer* buffer,
                              const rdmagpu_verify_options* options, rdmagpu_report** report,
                              rdmagpu_error* error) {
  return capi::prove("rdmagpu_verbs_peer_verify", peer, buffer, options, report, error,
                     [&](const RdmaGpuBuffer& slots, const VerifyOptions& wanted) {
                       return verify(slots, peer->peer(), wanted);
                     });
}

int rdmagpu_verbs_peer_finish(rdmagpu_verbs_peer* peer, int32_t written, int32_t read, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_peer_finish";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, peer); !given)
      return given;
    const auto wrote = capi::value(call, written, Answer::Yes);
    if(!wrote)
      return wrote.error();
    const auto got = capi::value(call, read, Answer::Yes);
    if(!got)
      return got.error();
    auto* remote = std::get_if<VerbsRemote>(&peer->value);
    return remote ? remote->finish(*wrote, *got) : Result<void>{};
  });
}

int rdmagpu_verbs_server_listen(struct ibv_pd* domain, const char* host, uint16_t tcpPort,
                                const rdmagpu_verbs_peer_options* options, rdmagpu_verbs_server** server,
                                rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_server_listen";
  return capi::create(call, server, error, [&]() -> Result<VerbsServer> {
    const auto wanted = readOptions(call, options);
    if(!wanted)
      return wanted.error();
    return VerbsServer::listen(domain, host ? host : "", tcpPort, *wanted);
  });
}

void rdmagpu_verbs_server_destroy(rdmagpu_verbs_server* server) { delete server; }

uint16_t rdmagpu_verbs_server_tcp_port(const rdmagpu_verbs_server* server) {
  return server ? server->value.tcpPort() : 0;
}

int rdmagpu_verbs_server_serve(rdmagpu_verbs_server* server, rdmagpu_verbs_served* served,
                               rdmagpu_verbs_port* port, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_server_serve";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, server); !given)
      return given;
    // Before a client is served that could not be told of.
    if(const auto good = capi::checkStruct(call, served); !good)
      return good;
    if(const auto good = port ? capi::checkStruct(call, port) : Result<void>{}; !good)
      return good;
    auto done = server->value.serve();
    if(!done)
      return done.error();
    server->served = *std::move(done);
    const VerbsServed& last = server->served;
    if(port)
      static_cast<void>(capi::write(call, toC(last.port), port));
    return capi::write(call,
                       rdmagpu_verbs_served{.struct_size = 0,
                                            .write_proven = static_cast<int32_t>(last.writeProven),
                                            .read_proven = static_cast<int32_t>(last.readProven),
                                            .reserved = 0,
                                            .client = last.client.c_str(),
                                            .written = last.written,
                                            .read = last.read},
                       served);
  });
}

} // extern "C"
