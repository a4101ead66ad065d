#pragma once
#include <os/mapping.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/pci_address.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Linux's peer-to-peer memory (p2pmem): memory of a PCI device's own, behind one of its windows, of which
/// the kernel hands out pages that other devices' drivers may have written and read by DMA. `root` replaces
/// "/".
namespace rdmagpu::os {

struct P2pmem {
  std::uint64_t bytes{};
  std::uint64_t freeBytes{};
  bool published{};     ///< Its driver offers it to other drivers, too.
  std::string driver{}; ///< Whose memory it is; empty where the kernel does not tell.
};

/// The devices that have such memory, in the order of their addresses.
std::vector<PciAddress> listP2pmem(const std::string& root = "");

/// What the kernel says of it now; 0 where it says nothing.
P2pmem readP2pmem(const PciAddress&, const std::string& root = "");

/// Whether the kernel lets programs have it: since 6.2.
bool allocatesP2pmem(const PciAddress&, const std::string& root = "");

/// Takes `bytes` of it, a multiple of the page size, in one piece at a multiple of 64 KiB. It holds what its
/// last user left there. It is given back when nothing maps it any more; no descriptor stays open.
Result<Mapping> mapP2pmem(const PciAddress&, std::size_t bytes, const std::string& root = "");

} // namespace rdmagpu::os
