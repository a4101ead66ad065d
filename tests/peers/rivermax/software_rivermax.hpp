#pragma once
#include "sdk/rivermax_api.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// The NICs behind the stand-in of the SDK: what is registered with each, one output stream, and a list of
/// the rules that were broken. Memory of the software CUDA device is memory of this process.
namespace rdmagpu::rivermaxtest {

/// These calls answer that; "rmx_register_memory" only from that NIC on.
void reset(std::map<std::string, rmx_status> failing = {}, std::uint32_t failingNic = 0);
rmx_device_iface nic(std::uint32_t address);
std::size_t registered();
std::vector<std::string> violations();
std::vector<std::byte> sent(); ///< Payload, of both NICs the same.
/// Whether a NIC of that interface may use the memory with that key.
bool reaches(const rmx_device_iface& iface, std::uint32_t key, const void* at, std::size_t bytes);

} // namespace rdmagpu::rivermaxtest
