#include <base/library_error.hpp>
#include <rdmagpu/error.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace rdmagpu {

const char* name(Errc kind) noexcept {
  switch(kind) {
  case Errc::None:
    return "None";
  case Errc::InvalidArgument:
    return "InvalidArgument";
  case Errc::NotFound:
    return "NotFound";
  case Errc::Unsupported:
    return "Unsupported";
  case Errc::TooOld:
    return "TooOld";
  case Errc::Permission:
    return "Permission";
  case Errc::OutOfMemory:
    return "OutOfMemory";
  case Errc::Busy:
    return "Busy";
  case Errc::Lost:
    return "Lost";
  case Errc::Internal:
    return "Internal";
  }
  return "Errc?";
}

const char* name(Origin origin) noexcept {
  switch(origin) {
  case Origin::Library:
    return "Library";
  case Origin::Os:
    return "Os";
  case Origin::Cuda:
    return "Cuda";
  case Origin::Vulkan:
    return "Vulkan";
  case Origin::D3D12:
    return "D3D12";
  case Origin::NvApi:
    return "NvApi";
  case Origin::Hip:
    return "Hip";
  case Origin::Hsa:
    return "Hsa";
  case Origin::LevelZero:
    return "LevelZero";
  case Origin::Verbs:
    return "Verbs";
  case Origin::Fabric:
    return "Fabric";
  case Origin::VideoMaster:
    return "VideoMaster";
  case Origin::Peer:
    return "Peer";
  case Origin::CuFile:
    return "CuFile";
  }
  return "Origin?";
}

namespace {

std::string whatFailed(const Error& error) {
  std::string text = *error.call ? error.call : "rdmagpu";
  if(error.origin == Origin::Library) {
    if(const char* rule = libraryRule(error.code))
      return text + ": " + rule;
  }
  text += " failed: ";
  text += *error.codeName ? error.codeName : name(error.origin);
  text += " (" + std::to_string(error.code);
  const bool completion =
      std::string_view{error.codeName}.starts_with("IBV_"); // whose codes are no errno values
  if(error.origin == Origin::Os || (error.origin == Origin::Verbs && !completion))
    text += ", " + std::generic_category().message(static_cast<int>(error.code));
  return text + ")";
}

/// As nvidia-smi writes it.
std::string textOf(const std::array<std::byte, 16>& uuid) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "GPU";
  for(std::size_t i = 0; i < uuid.size(); ++i) {
    if(i == 0 || i == 4 || i == 6 || i == 8 || i == 10)
      text += '-';
    const auto byte = std::to_integer<unsigned>(uuid[i]);
    text += digits[byte >> 4U];
    text += digits[byte & 0xFU];
  }
  return text;
}

bool isOf(LibraryCode code, const Error& error) noexcept {
  return error.origin == Origin::Library && error.code == static_cast<std::int64_t>(code);
}

/// "; asked 5, available 3", as far as there are such numbers.
std::string numbersOf(const Error& error) {
  const bool negative = isOf(LibraryCode::OrdinalNegative, error);
  const bool ordinal = negative || isOf(LibraryCode::DeviceOutOfRange, error);
  // A budget of 0 is a figure too, and so is an ordinal; elsewhere 0 means that nobody told.
  const bool budget = error.origin == Origin::Library && error.kind == Errc::OutOfMemory &&
                      !isOf(LibraryCode::OutOfMemory, error);
  std::string text;
  if(error.bytes || error.available || ordinal)
    text += "; asked " + (negative ? std::to_string(error.device) : std::to_string(error.bytes));
  if(error.available || ordinal || (error.bytes && budget))
    text += ", available " + std::to_string(error.available);
  else if(error.total)
    text += ", of " + std::to_string(error.total) + " in all";
  return text;
}

} // namespace

std::string Error::message() const {
  if(kind == Errc::None)
    return "no error";
  std::string text = whatFailed(*this) + numbersOf(*this);
  if(device >= 0)
    text += "; device " + std::to_string(device);
  if(slot >= 0)
    text += "; slot " + std::to_string(slot);
  if(fd >= 0)
    text += "; descriptor " + std::to_string(fd);
  if(pci)
    text += "; PCI device " + pci->text();
  if(uuid)
    text += "; " + textOf(*uuid);
  return text;
}

} // namespace rdmagpu
