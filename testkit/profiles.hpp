#pragma once
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/// The machines that the stand-ins of NVIDIA's libraries can be.
namespace rdmagpu::standin {

/// A driver that does not know the attribute.
inline constexpr int unknown = -1;

inline constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

/// What the driver says; by default as an H200's, which was measured.
struct Profile {
  const char* name;
  const char* text;
  int integrated = 0;
  int vmm = 1;
  int rdma = 1;
  int rdmaWithVmm = 1;
  bool vmmIsCapable = true;   ///< What the pointer attribute says of memory made with the RDMA flag.
  bool plainIsCapable = true; ///< The same of cuMemAlloc's, where there is RDMA.
  int dmaBuf = 1;
  bool pcieMapping = false; ///< Whether exports can be mapped through PCIe by choice.
  int posixFd = 1;
  int ordering = 100;
  int devices = 2;
  bool gpusReachEachOther = true;
  std::uint64_t memory = 141 * gibibyte;
  std::uint64_t bar1 = 256 * gibibyte;
  const char* firstGpu = nullptr; ///< Whose profile's attributes GPU 0 has, where not these.
};

inline constexpr std::array profiles{
    Profile{.name = "h200", .text = "an H200 as it was measured, but two of them"},
    Profile{.name = "no-vmm-rdma",
            .text = "the RDMA flag of VMM memory is not offered, and has no effect",
            .rdmaWithVmm = 0,
            .vmmIsCapable = false},
    Profile{.name = "flag-ignored",
            .text = "the RDMA flag of VMM memory is offered, yet has no effect",
            .vmmIsCapable = false},
    Profile{.name = "unreachable",
            .text = "RDMA is offered, yet peers reach no memory",
            .vmmIsCapable = false,
            .plainIsCapable = false},
    Profile{.name = "no-vmm",
            .text = "RDMA, but no virtual memory management",
            .vmm = 0,
            .rdmaWithVmm = 0,
            .vmmIsCapable = false,
            .posixFd = 0},
    Profile{.name = "geforce", .text = "no RDMA at all", .rdma = 0, .rdmaWithVmm = 0, .vmmIsCapable = false},
    Profile{.name = "t4",
            .text = "a small GPU, of which peers see 256 MiB",
            .devices = 1,
            .memory = 15 * gibibyte,
            .bar1 = gibibyte / 4},
    Profile{.name = "integrated",
            .text = "a Jetson: the GPU's memory is the system's",
            .integrated = 1,
            .rdmaWithVmm = 0,
            .vmmIsCapable = false,
            .dmaBuf = 0,
            .ordering = 200},
    Profile{.name = "gb10",
            .text = "integrated as well, and without RDMA",
            .integrated = 1,
            .rdma = 0,
            .rdmaWithVmm = 0,
            .vmmIsCapable = false,
            .dmaBuf = 0,
            .ordering = 200,
            .devices = 1,
            .memory = 119 * gibibyte,
            .bar1 = 0},
    Profile{.name = "integrated-first",
            .text = "an integrated GPU, and behind it an H200",
            .firstGpu = "integrated"},
    Profile{
        .name = "geforce-first", .text = "a GPU without RDMA, and behind it an H200", .firstGpu = "geforce"},
    Profile{.name = "no-dma-buf", .text = "no dma-buf exports, as with closed kernel modules", .dmaBuf = 0},
    Profile{.name = "grace",
            .text = "a coherent link to the CPU, and exports through PCIe by choice",
            .pcieMapping = true},
    Profile{.name = "no-posix-fd", .text = "memory that cannot leave the process", .posixFd = 0},
    Profile{.name = "unordered", .text = "what a peer writes has to be flushed", .ordering = 0},
    Profile{.name = "gpus-apart",
            .text = "two GPUs that do not reach each other's memory",
            .gpusReachEachOther = false},
    Profile{.name = "no-device", .text = "a driver without a GPU", .devices = 0},
    Profile{.name = "driver-11.4",
            .text = "what the driver in cuda-11.4 is: it knows no dma-bufs",
            .dmaBuf = unknown},
    Profile{.name = "driver-10.1",
            .text = "what the driver in cuda-10.1 is: it is older than VMM",
            .vmm = unknown,
            .rdma = unknown,
            .rdmaWithVmm = unknown,
            .vmmIsCapable = false,
            .dmaBuf = unknown,
            .posixFd = unknown,
            .ordering = unknown},
};

/// Ends the process when there is none of that name.
inline const Profile& profileNamed(const char* name) {
  for(const Profile& profile : profiles) {
    if(std::strcmp(profile.name, name) == 0)
      return profile;
  }
  std::fprintf(stderr, "stand-in: no profile is called %s\n", name);
  std::abort();
}

/// The profile with the attributes of that GPU.
inline const Profile& gpuOf(const Profile& machine, int ordinal) {
  return machine.firstGpu && ordinal == 0 ? profileNamed(machine.firstGpu) : machine;
}

/// The one that the environment names, or else that one.
inline const Profile& profileAtStart(const char* otherwise) {
  const char* name = std::getenv("RDMAGPU_STANDIN_CUDA_PROFILE"); // before any other thread can set it
  return profileNamed(name ? name : otherwise);
}

} // namespace rdmagpu::standin
