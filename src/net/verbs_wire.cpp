#include <base/library_error.hpp>
#include <net/verbs_wire.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu::net {
namespace {

constexpr const char* call = "VerbsRemote";
constexpr std::uint64_t magic = 0x7264'6d61'6770'750a; // "rdmagpu\n"
constexpr std::uint32_t wireVersion = 1;
constexpr std::uint32_t isGlobal = 1;
constexpr std::uint32_t isHardwareFlag = 2;

class Writer {
public:
  explicit Writer(std::span<std::byte> into) noexcept : m_into(into) {}
  template <class Number>
  void put(Number value) noexcept {
    for(std::size_t i = sizeof(Number); i-- != 0;)
      m_into[m_at++] = static_cast<std::byte>(value >> (8 * i));
  }
  void put(const ibv_gid& gid) noexcept {
    std::memcpy(&m_into[m_at], gid.raw, sizeof gid.raw);
    m_at += sizeof gid.raw;
  }

private:
  std::span<std::byte> m_into;
  std::size_t m_at{};
};

class Reader {
public:
  explicit Reader(std::span<const std::byte> from) noexcept : m_from(from) {}
  template <class Number>
  Number take() noexcept {
    std::uint64_t value{};
    for(std::size_t i = 0; i < sizeof(Number); ++i)
      value = value << 8U | static_cast<std::uint64_t>(m_from[m_at++]);
    return static_cast<Number>(value);
  }
  ibv_gid takeGid() noexcept {
    ibv_gid gid{};
    std::memcpy(gid.raw, &m_from[m_at], sizeof gid.raw);
    m_at += sizeof gid.raw;
    return gid;
  }

private:
  std::span<const std::byte> m_from;
  std::size_t m_at{};
};

Error invalid(std::uint64_t value, std::uint64_t limit = 0) noexcept {
  return libraryError(call, LibraryCode::OtherMessage, value, limit);
}

} // namespace

std::array<std::byte, helloBytes> encode(const Hello& hello) noexcept {
  std::array<std::byte, helloBytes> message{};
  Writer writer{message};
  writer.put(magic);
  writer.put(wireVersion);
  writer.put(static_cast<std::uint32_t>(helloBytes));
  writer.put(hello.end.pairNumber);
  writer.put(hello.end.firstPacket);
  writer.put(hello.end.lid);
  writer.put(hello.end.mtu);
  writer.put(hello.end.maxMessage);
  writer.put((hello.end.global ? isGlobal : 0U) | (hello.hardware ? isHardwareFlag : 0U));
  writer.put(hello.end.gid);
  return message;
}

Result<Hello> decodeHello(std::span<const std::byte, helloBytes> message) {
  Reader reader{message};
  if(reader.take<std::uint64_t>() != magic)
    return libraryError(call, LibraryCode::OtherNotRdmagpu);
  if(const auto version = reader.take<std::uint32_t>(); version != wireVersion)
    return libraryError(call, LibraryCode::OtherVersion, version, wireVersion);
  if(const auto length = reader.take<std::uint32_t>(); length != helloBytes)
    return invalid(length, helloBytes);
  Hello hello;
  hello.end.pairNumber = reader.take<std::uint32_t>();
  hello.end.firstPacket = reader.take<std::uint32_t>();
  hello.end.lid = reader.take<std::uint32_t>();
  hello.end.mtu = reader.take<std::uint32_t>();
  hello.end.maxMessage = reader.take<std::uint32_t>();
  const auto flags = reader.take<std::uint32_t>();
  hello.end.global = (flags & isGlobal) != 0;
  hello.hardware = (flags & isHardwareFlag) != 0;
  hello.end.gid = reader.takeGid();
  constexpr std::uint32_t most24 = 0xffffff;
  if(hello.end.pairNumber > most24 || hello.end.firstPacket > most24 || hello.end.lid > 0xffff)
    return invalid(std::max({hello.end.pairNumber, hello.end.firstPacket, hello.end.lid}));
  if(hello.end.mtu < IBV_MTU_256 || hello.end.mtu > IBV_MTU_4096)
    return invalid(hello.end.mtu, IBV_MTU_4096);
  if(hello.end.maxMessage == 0)
    return invalid(0, 1);
  return hello;
}

std::array<std::byte, requestBytes> encode(const Request& request) noexcept {
  std::array<std::byte, requestBytes> message{};
  Writer writer{message};
  writer.put(static_cast<std::uint32_t>(request.ask));
  writer.put(request.bytes);
  writer.put(request.address);
  writer.put(request.rkey);
  return message;
}

Result<Request> decodeRequest(std::span<const std::byte, requestBytes> message, std::uint32_t limit) {
  Reader reader{message};
  const auto ask = reader.take<std::uint32_t>();
  Request request;
  request.bytes = reader.take<std::uint32_t>();
  request.address = reader.take<std::uint64_t>();
  request.rkey = reader.take<std::uint32_t>();
  if(ask < static_cast<std::uint32_t>(Ask::Write) || ask > static_cast<std::uint32_t>(Ask::End))
    return invalid(ask, static_cast<std::uint32_t>(Ask::End));
  request.ask = static_cast<Ask>(ask);
  const bool moves = request.ask == Ask::Write || request.ask == Ask::Read;
  if(moves ? request.bytes == 0 || request.bytes > limit : request.bytes != 0)
    return invalid(request.bytes, moves ? limit : 0);
  return request;
}

std::array<std::byte, replyBytes> encode(const Reply& reply) noexcept {
  std::array<std::byte, replyBytes> message{};
  Writer writer{message};
  writer.put(static_cast<std::uint32_t>(reply.outcome));
  writer.put(reply.code);
  return message;
}

Result<Reply> decodeReply(std::span<const std::byte, replyBytes> message) {
  Reader reader{message};
  const auto outcome = reader.take<std::uint32_t>();
  const auto code = reader.take<std::uint32_t>();
  if(outcome > static_cast<std::uint32_t>(Outcome::Completion) || (outcome == 0) != (code == 0))
    return invalid(outcome, static_cast<std::uint32_t>(Outcome::Completion));
  return Reply{static_cast<Outcome>(outcome), code};
}

} // namespace rdmagpu::net
