#pragma once
#include <net/verbs_pair.hpp>
#include <rdmagpu/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/// The messages of a proof between two hosts: numbers in network order, each message of one length.
///
///   client                       server
///   Hello                 ->
///                         <-     Hello
///   Request Write, bytes  ->
///                         <-     Reply
///   Request Read          ->
///                         <-     Reply, bytes where it succeeded
///   Request Again         ->            after a failure: new queue pairs, Hello and Hello follow
///   Request End           ->            `address`: what was proven
namespace rdmagpu::net {

struct Hello {
  Endpoint end;
  bool hardware{};
};
constexpr std::size_t helloBytes = 64;
std::array<std::byte, helloBytes> encode(const Hello&) noexcept;
Result<Hello> decodeHello(std::span<const std::byte, helloBytes>);

enum class Ask : std::uint32_t { Write = 1, Read, Again, End };
struct Request {
  Ask ask{};
  std::uint32_t bytes{};
  std::uint64_t address{};
  std::uint32_t rkey{};
};
constexpr std::size_t requestBytes = 24;
std::array<std::byte, requestBytes> encode(const Request&) noexcept;
/// At most `limit` bytes may be asked for.
Result<Request> decodeRequest(std::span<const std::byte, requestBytes>, std::uint32_t limit);

enum class Outcome : std::uint32_t { Done, PostFailed, PollFailed, Completion };
struct Reply {
  Outcome outcome{};
  std::uint32_t code{}; ///< errno, or the status of the completion.
};
constexpr std::size_t replyBytes = 8;
std::array<std::byte, replyBytes> encode(const Reply&) noexcept;
Result<Reply> decodeReply(std::span<const std::byte, replyBytes>);

} // namespace rdmagpu::net
