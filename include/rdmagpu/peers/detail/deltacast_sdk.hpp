#pragma once
#include <rdmagpu/error.hpp>

// The SDK's own headers, in the order in which they need each other.
#include <VideoMasterHD_Core.h>

#include <VideoMasterHD_Sdi.h>

#include <VideoMasterHD_ApplicationBuffers.h>

#include <cstdint>

/// Calls of Deltacast's VideoMaster SDK, and what their answers mean.
namespace rdmagpu::peers::detail {

struct VhdCode {
  ULONG code;
  const char* name;
  Errc kind;
};

/// Those that the slots' calls can be expected to answer; others keep their number.
inline constexpr VhdCode vhdCodes[] = {
    {VHDERR_FATALERROR, "VHDERR_FATALERROR", Errc::Lost},
    {VHDERR_OPERATIONFAILED, "VHDERR_OPERATIONFAILED", Errc::Internal},
    {VHDERR_NOTENOUGHRESOURCE, "VHDERR_NOTENOUGHRESOURCE", Errc::OutOfMemory},
    {VHDERR_NOTIMPLEMENTED, "VHDERR_NOTIMPLEMENTED", Errc::Unsupported},
    {VHDERR_NOTFOUND, "VHDERR_NOTFOUND", Errc::NotFound},
    {VHDERR_BADARG, "VHDERR_BADARG", Errc::InvalidArgument},
    {VHDERR_INVALIDPOINTER, "VHDERR_INVALIDPOINTER", Errc::InvalidArgument},
    {VHDERR_INVALIDHANDLE, "VHDERR_INVALIDHANDLE", Errc::InvalidArgument},
    {VHDERR_INVALIDSTREAM, "VHDERR_INVALIDSTREAM", Errc::InvalidArgument},
    {VHDERR_RESOURCELOCKED, "VHDERR_RESOURCELOCKED", Errc::Busy},
    {VHDERR_BOARDNOTPRESENT, "VHDERR_BOARDNOTPRESENT", Errc::Lost},
    {VHDERR_TIMEOUT, "VHDERR_TIMEOUT", Errc::Busy},
    {VHDERR_STREAMNOTRUNNING, "VHDERR_STREAMNOTRUNNING", Errc::InvalidArgument},
    {VHDERR_BADINPUTSIGNAL, "VHDERR_BADINPUTSIGNAL", Errc::Busy},
    {VHDERR_BUFFERTOOSMALL, "VHDERR_BUFFERTOOSMALL", Errc::InvalidArgument},
};

/// Kind None for VHDERR_NOERROR. `call` is static text.
inline Error vhdError(const char* call, ULONG code, std::uint64_t bytes = 0,
                      std::int32_t slot = -1) noexcept {
  if(code == VHDERR_NOERROR)
    return {};
  Error error{.kind = Errc::Internal,
              .origin = Origin::VideoMaster,
              .code = static_cast<std::int64_t>(code),
              .call = call,
              .finding = "video-master",
              .bytes = bytes,
              .slot = slot};
  for(const VhdCode& known : vhdCodes) {
    if(known.code == code) {
      error.kind = known.kind;
      error.codeName = known.name;
    }
  }
  return error;
}

} // namespace rdmagpu::peers::detail
