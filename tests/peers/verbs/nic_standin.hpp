#pragma once
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

struct ibv_pd;
struct ibv_mr;

/// libibverbs with a NIC in software behind it, which answers as the kernel does: rxe's, siw's and mlx5's own
/// errnos for the same mistakes. It keeps a ledger of what is registered.
namespace rdmagpu::nictest {

struct Nic {
  int dmaBufErrno = 0;     ///< What any dma-buf is refused with, before anybody looks at it; 0: it is taken.
  bool peerMemory = false; ///< A module answers for device pointers.
  int dataDirectErrno = EOPNOTSUPP;
  int onDemandErrno = EOPNOTSUPP;
  std::uint64_t maxMrSize = ~std::uint64_t{};
  std::optional<std::uint64_t> memlock{};
  int fork = 2;      ///< IBV_FORK_UNNEEDED
  bool there = true; ///< Else the kernel has RDMA, and no device.
  bool portUp = true;
  bool ethernet = true;
  bool iWarp = false;
  std::string node{};      ///< Of /sys.
  bool bytesMove = true;   ///< Else every transfer succeeds, and none does anything.
  bool readsArrive = true; ///< Else as behind a root complex that passes writes only.
};

/// ConnectX: everything but peer memory, which is a module of the GPU's driver.
inline Nic mlx5() { return {.dataDirectErrno = 0, .onDemandErrno = 0}; }
/// Soft RoCE: host memory only.
inline Nic rxe() { return {.dmaBufErrno = EOPNOTSUPP}; }
inline Nic withPeerMemory(Nic nic) {
  nic.peerMemory = true;
  return nic;
}

/// Puts that NIC in, with nothing registered.
void reset(const Nic& = mlx5());
/// A protection domain of it.
ibv_pd* domain();
ibv_pd* otherDomain();

struct Registration {
  std::string call;
  ibv_pd* domain{};
  std::uint64_t address{}; ///< 0: it is a dma-buf's.
  std::uint64_t offset{};
  std::uint64_t iova{};
  std::size_t bytes{};
  unsigned access{};
  ino_t dmaBuf{};
  std::byte* reached{}; ///< Where the NIC finds the memory; null for what no CPU can address.
};
/// Queues and pairs that were created and not destroyed.
std::size_t liveQueues();
/// Devices and domains that were opened by name and not closed.
std::size_t liveDevices();
/// What is registered now, in that order.
const std::vector<Registration>& live();

/// Memory that the CPU cannot address, for ibv_reg_mr.
void deviceMemory(std::uint64_t address, std::size_t bytes);
/// Must be there as long as anything is registered.
void watch(std::weak_ptr<const void> memory);
/// The next call of that name fails so.
void failNext(std::string call, int code);
int calls(const std::string& name);

/// What was done that no kernel lets pass, or that would be a use of memory after it is gone.
const std::vector<std::string>& violations();

} // namespace rdmagpu::nictest
