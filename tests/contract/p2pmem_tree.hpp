#pragma once
#include <backend/pci_p2p.hpp>
#include <core/buffer_state.hpp>
#include <support/temp_tree.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace rdmagpu::test {

/// A /sys of our own in which devices have peer-to-peer memory: files on which mmap does the rest. All
/// mappings of one device are of the same bytes, as if each got what the one before had given back.
class P2pmemTree {
public:
  void publish(const std::string& pci, std::uint64_t bytes, bool published = true) const {
    const std::string folder = folderOf(pci);
    m_tree.write(folder + "size", std::to_string(bytes) + "\n");
    m_tree.write(folder + "available", std::to_string(bytes - reserved) + "\n");
    m_tree.write(folder + "published", published ? "1\n" : "0\n");
    m_tree.write(folder + "allocate", "");
    std::filesystem::resize_file(root() + folder + "allocate", bytes);
  }
  void remove(const std::string& pci, const std::string& file) const {
    std::filesystem::remove(root() + folderOf(pci) + file);
  }
  const TempTree& tree() const noexcept { return m_tree; }
  const std::string& root() const noexcept { return m_tree.root(); }

  Result<RdmaGpuBuffer> make(const RdmaGpuBufferConfig& config) const {
    auto device = backend::pci_p2p::open(config, root());
    if(!device)
      return device.error();
    auto state = core::buildOn("RdmaGpuBuffer::make", RdmaGpuApi::PciP2p, **device, config);
    if(!state)
      return state.error();
    return core::BufferAccess::make(*std::move(state));
  }

  static constexpr std::uint64_t reserved = 128 * 1024; ///< By the device's driver itself.

private:
  static std::string folderOf(const std::string& pci) { return "/sys/bus/pci/devices/" + pci + "/p2pmem/"; }
  TempTree m_tree;
};

} // namespace rdmagpu::test
