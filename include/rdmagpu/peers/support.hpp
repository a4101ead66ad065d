#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>

#include <cstdint>

/// What the glue to the SDKs of peers shares. Each such header is compiled by whoever has the SDK; the
/// library itself includes no vendor's header.
namespace rdmagpu::peers {

/// What that glue refuses by itself.
enum class Refusal : std::uint8_t {
  SlotsTooSmall,      ///< For what the SDK transfers.
  CompanionsTooSmall, ///< For what the SDK transfers beside each frame.
  CannotAddress,      ///< Memory of a kind that the SDK does not take.
  BadBufferType,
  NoFreeSlot, ///< To start a stream with.
  Running,
  Spent,       ///< The stream has run.
  UnknownSlot, ///< The SDK returned a slot that it did not have.
  OutOfMemory,
  WrongFlow,   ///< A device that does not capture, or put out, or stream at all.
  WrongFormat, ///< Not the one that was asked for.
  ManyPlanes,  ///< A frame in pieces; a slot holds it in one.
  TooFewSlots, ///< For the device's driver.
  DataOffset,  ///< A frame that does not begin where its slot does.
};

/// An Error of Origin::Library. `call` is static text.
RDMAGPU_API Error refusal(const char* call, Refusal, std::uint64_t asked = 0,
                          std::uint64_t limit = 0) noexcept;

/// What an SDK says that has no Origin of its own; static text, and never kind None.
RDMAGPU_API Error peerError(const char* call, std::int64_t code, const char* codeName = "",
                            Errc kind = Errc::Internal) noexcept;

/// What the operating system says to a peer's glue that calls it: an Error of Origin::Os. `call` is static
/// text, `code` an errno value.
RDMAGPU_API Error systemError(const char* call, int code, std::uint64_t asked = 0,
                              std::uint64_t limit = 0) noexcept;

/// Tells the log sink what a destructor cannot return.
RDMAGPU_API void reportFailure(const Error&) noexcept;

} // namespace rdmagpu::peers
