#pragma once
#include <rdmagpu/export.hpp>

#include <cstdint>
#include <initializer_list>
#include <variant>

namespace rdmagpu {

/// A pointer that the CPU can dereference: host memory.
struct HostPointer {
  void* value{};
};
/// A CUdeviceptr. Not a CPU address.
struct CudaPointer {
  std::uint64_t value{};
};
/// A VkRemoteAddressNV: opaque, for the kernel driver of a peer that knows it.
struct VulkanRemoteAddress {
  void* value{};
};
/// The BAR1 address that NvAPI_D3D12_CreateCommittedRDMABuffer returned. Not the resource's GPU virtual
/// address.
struct NvApiRdmaAddress {
  void* value{};
};
/// A device pointer of the HIP runtime.
struct HipPointer {
  void* value{};
};
/// A device pointer of Level Zero.
struct LevelZeroPointer {
  void* value{};
};
/// The CPU's mapping of a PCI device's own memory: dereferenceable, uncached or write-combined.
struct PciMapping {
  void* value{};
};
/// No address at all: the peer takes a dma-buf from exportRegion() or exportSlot().
struct DmaBufOnly {};

/// What a peer's SDK wants for one slot. No two kinds of address share a type, so that a host
/// pointer can never be handed where a device pointer is meant. monostate: no such slot.
using Handoff = std::variant<std::monostate, HostPointer, CudaPointer, VulkanRemoteAddress, NvApiRdmaAddress,
                             HipPointer, LevelZeroPointer, PciMapping, DmaBufOnly>;

/// The alternatives of `Handoff`, in its order.
enum class HandoffKind : std::uint8_t {
  None,
  HostPointer,
  CudaPointer,
  VulkanRemoteAddress,
  NvApiRdmaAddress,
  HipPointer,
  LevelZeroPointer,
  PciMapping,
  DmaBuf,
};

RDMAGPU_API HandoffKind kind(const Handoff&) noexcept;
/// "none", "host-pointer", "cuda-pointer", "vulkan-remote-address", "nvapi-rdma-address",
/// "hip-pointer", "level-zero-pointer", "pci-mapping", "dma-buf".
RDMAGPU_API const char* name(HandoffKind) noexcept;
/// The number inside, for reports and for C; 0 where there is no address.
RDMAGPU_API std::uint64_t addressBits(const Handoff&) noexcept;
/// Where the CPU can read and write the slot directly; null where it cannot.
RDMAGPU_API void* cpuAddress(const Handoff&) noexcept;

/// A set of handoff kinds: what a peer accepts.
class Handoffs {
public:
  /// Any kind of address, so that gpuVA is never null. No dma-buf.
  constexpr Handoffs() noexcept : m_bits(anyAddressBits()) {}
  constexpr Handoffs(std::initializer_list<HandoffKind> kinds) noexcept {
    for(const HandoffKind k : kinds)
      add(k);
  }
  constexpr void add(HandoffKind k) noexcept { m_bits = static_cast<std::uint16_t>(m_bits | bit(k)); }
  constexpr bool contains(HandoffKind k) const noexcept { return (m_bits & bit(k)) != 0; }
  constexpr bool operator==(const Handoffs&) const noexcept = default;

private:
  static constexpr std::uint16_t bit(HandoffKind k) noexcept {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(k));
  }
  static constexpr std::uint16_t anyAddressBits() noexcept {
    return static_cast<std::uint16_t>(bit(HandoffKind::DmaBuf) - bit(HandoffKind::HostPointer));
  }
  std::uint16_t m_bits{};
};

} // namespace rdmagpu
