#include <os/calls_linux.hpp>
#include <os/files.hpp>
#include <os/numa.hpp>

#include <array>
#include <charconv>
#include <sched.h>
#include <sys/syscall.h>

namespace rdmagpu::os {
namespace {

constexpr std::size_t maxNodes = 1024; // CONFIG_NODES_SHIFT is at most 10
constexpr std::size_t bitsInWord = 8 * sizeof(unsigned long);

// From <linux/mempolicy.h>.
constexpr unsigned long queryNode = 1;      // MPOL_F_NODE
constexpr unsigned long queryByAddress = 2; // MPOL_F_ADDR

} // namespace

Result<void> setNode(void* address, std::size_t bytes, int node, NodePolicy policy) noexcept {
  const auto n = static_cast<std::size_t>(node);
  if(node < 0 || n >= maxNodes)
    return error(call::mbind.name(), EINVAL, n, maxNodes - 1);
  std::array<unsigned long, maxNodes / bitsInWord> mask{};
  mask[n / bitsInWord] = 1UL << n % bitsInWord;
  // The kernel takes one less than maxnode as the number of bits.
  if(call::mbind(SYS_mbind, address, bytes, static_cast<int>(policy), mask.data(), maxNodes + 1, 0U) != 0)
    return call::mbind.refusal(bytes);
  return {};
}

Result<int> nodeOf(const void* address) noexcept {
  int node = -1;
  if(call::getMempolicy(SYS_get_mempolicy, &node, nullptr, 0UL, address, queryNode | queryByAddress) != 0)
    return call::getMempolicy.refusal();
  return node;
}

int currentNode() noexcept {
  unsigned cpu{};
  unsigned node{};
  return getcpu(&cpu, &node) == 0 ? static_cast<int>(node) : -1;
}

int nodeOf(const PciAddress& address, const std::string& root) {
  const auto text = readIfThere(root + "/sys/bus/pci/devices/" + address.text() + "/numa_node");
  int node = -1;
  if(text)
    std::from_chars(text->data(), text->data() + text->size(), node);
  return node;
}

} // namespace rdmagpu::os
