#pragma once
#include <rdmagpu/peers/registrar.hpp>
#include <rdmagpu/peers/support.hpp>

// The SDK's own header.
#include <rivermax_api.h>

#include <cstdint>

namespace rdmagpu::peers {

/// The address of a slot as the SDK takes it; it tells by itself whether that is a GPU's.
inline void* rivermaxAddress(const Handoff& handoff) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(addressBits(handoff)));
}

/// A NIC of NVIDIA's through its Rivermax SDK: one region and one mkey for all slots of a buffer. Each NIC
/// wants a PeerRegistration of its own, as for ST 2022-7: the same slots then have a mkey for each. Header
/// only, for code that has the SDK. Written after its published names, and never run with a NIC.
///
/// PinnedSlot::key is the mkey, of the NIC that the interface was retrieved for. Streams must be destroyed
/// before it is released, by the program or by Registrar::quiesce. Of a GPU's memory only payload can be
/// sent or received (header-data split).
inline Registrar rivermaxRegistrar(const rmx_device_iface& nic) {
  const auto regionOf = [](const PinView& view, std::uint64_t key) {
    rmx_mem_region region{};
    region.addr = rivermaxAddress(view.handoff);
    region.length = view.bytes;
    region.mkey = static_cast<rmx_mkey_id>(key);
    return region;
  };
  Registrar rivermax{.name = "rivermax", .unit = PinUnit::Region};
  rivermax.limits.accepts = {HandoffKind::HostPointer, HandoffKind::CudaPointer};
  rivermax.pin = [nic, regionOf](const PinView& view) -> Result<std::uint64_t> {
    rmx_mem_region region = regionOf(view, RMX_MKEY_INVALID);
    rmx_mem_reg_params params{};
    rmx_init_mem_registry(&params, &nic);
    if(const rmx_status status = rmx_register_memory(&region, &params); status != RMX_OK)
      return peerError("rmx_register_memory", status);
    return region.mkey;
  };
  rivermax.unpin = [nic, regionOf](const PinView& view, std::uint64_t key) -> Result<void> {
    const rmx_mem_region region = regionOf(view, key);
    if(const rmx_status status = rmx_deregister_memory(&region, &nic); status != RMX_OK)
      return peerError("rmx_deregister_memory", status);
    return {};
  };
  return rivermax;
}

} // namespace rdmagpu::peers
