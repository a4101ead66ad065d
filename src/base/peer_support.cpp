#include <rdmagpu/peers/support.hpp>

#include <base/library_error.hpp>
#include <base/log.hpp>

namespace rdmagpu::peers {
namespace {

LibraryCode codeOf(Refusal refusal) noexcept {
  switch(refusal) {
  case Refusal::SlotsTooSmall:
    return LibraryCode::PeerSlotsTooSmall;
  case Refusal::CompanionsTooSmall:
    return LibraryCode::PeerCompanionsTooSmall;
  case Refusal::CannotAddress:
    return LibraryCode::PeerCannotAddress;
  case Refusal::BadBufferType:
    return LibraryCode::PeerBufferType;
  case Refusal::NoFreeSlot:
    return LibraryCode::PeerNoFreeSlot;
  case Refusal::Running:
    return LibraryCode::PeerRunning;
  case Refusal::Spent:
    return LibraryCode::PeerSpent;
  case Refusal::UnknownSlot:
    return LibraryCode::PeerUnknownSlot;
  case Refusal::OutOfMemory:
    return LibraryCode::OutOfMemory;
  case Refusal::WrongFlow:
    return LibraryCode::PeerFlow;
  case Refusal::WrongFormat:
    return LibraryCode::PeerFormat;
  case Refusal::ManyPlanes:
    return LibraryCode::PeerPlanes;
  case Refusal::TooFewSlots:
    return LibraryCode::PeerTooFewSlots;
  case Refusal::DataOffset:
    return LibraryCode::PeerDataOffset;
  }
  return LibraryCode::OutOfMemory;
}

} // namespace

Error refusal(const char* call, Refusal refusal, std::uint64_t asked, std::uint64_t limit) noexcept {
  return libraryError(call, codeOf(refusal), asked, limit);
}

Error peerError(const char* call, std::int64_t code, const char* codeName, Errc kind) noexcept {
  return {.kind = kind == Errc::None ? Errc::Internal : kind,
          .origin = Origin::Peer,
          .code = code,
          .call = call,
          .codeName = codeName,
          .finding = "peer-sdk"};
}

void reportFailure(const Error& error) noexcept {
  log(LogLevel::Failure, "a peer's SDK did not let go of its slots", error);
}

} // namespace rdmagpu::peers
