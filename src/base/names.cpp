#include <rdmagpu/handoff.hpp>
#include <rdmagpu/proof.hpp>
#include <rdmagpu/version.hpp>

#define RDMAGPU_TEXT(x) #x
#define RDMAGPU_VERSION_TEXT(major, minor, patch)                                                            \
  RDMAGPU_TEXT(major) "." RDMAGPU_TEXT(minor) "." RDMAGPU_TEXT(patch)

namespace rdmagpu {

const char* version() noexcept {
  return RDMAGPU_VERSION_TEXT(RDMAGPU_VERSION_MAJOR, RDMAGPU_VERSION_MINOR, RDMAGPU_VERSION_PATCH);
}

const char* name(Answer answer) noexcept {
  switch(answer) {
  case Answer::Unknown:
    return "not-tried";
  case Answer::No:
    return "no";
  case Answer::Yes:
    return "yes";
  }
  return "?";
}

const char* name(Agent agent) noexcept {
  switch(agent) {
  case Agent::None:
    return "none";
  case Agent::Cpu:
    return "cpu";
  case Agent::CopyEngine:
    return "copy-engine";
  case Agent::Software:
    return "software";
  case Agent::Device:
    return "device";
  }
  return "?";
}

HandoffKind kind(const Handoff& handoff) noexcept { return static_cast<HandoffKind>(handoff.index()); }

const char* name(HandoffKind kind) noexcept {
  switch(kind) {
  case HandoffKind::None:
    return "none";
  case HandoffKind::HostPointer:
    return "host-pointer";
  case HandoffKind::CudaPointer:
    return "cuda-pointer";
  case HandoffKind::VulkanRemoteAddress:
    return "vulkan-remote-address";
  case HandoffKind::NvApiRdmaAddress:
    return "nvapi-rdma-address";
  case HandoffKind::HipPointer:
    return "hip-pointer";
  case HandoffKind::LevelZeroPointer:
    return "level-zero-pointer";
  case HandoffKind::PciMapping:
    return "pci-mapping";
  case HandoffKind::DmaBuf:
    return "dma-buf";
  }
  return "?";
}

namespace {

struct AddressBits {
  std::uint64_t operator()(std::monostate) const noexcept { return 0; }
  std::uint64_t operator()(DmaBufOnly) const noexcept { return 0; }
  std::uint64_t operator()(CudaPointer p) const noexcept { return p.value; }
  template <class Pointer>
  std::uint64_t operator()(Pointer p) const noexcept {
    return reinterpret_cast<std::uintptr_t>(p.value); // the number is what C and reports show
  }
};

} // namespace

std::uint64_t addressBits(const Handoff& handoff) noexcept { return std::visit(AddressBits{}, handoff); }

void* cpuAddress(const Handoff& handoff) noexcept {
  if(const auto* host = std::get_if<HostPointer>(&handoff))
    return host->value;
  if(const auto* mapping = std::get_if<PciMapping>(&handoff))
    return mapping->value;
  return nullptr;
}

} // namespace rdmagpu
