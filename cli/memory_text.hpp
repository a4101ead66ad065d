#pragma once
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::cli {

/// A buffer's facts as a person reads them, for factLines().
std::vector<std::pair<std::string, std::string>> memoryFacts(const RdmaGpuBuffer& buffer);

/// The same in one line: "host, 8 slots of 4194304 bytes, memfd, locked, 4096-byte pages".
std::string memoryLine(const BufferFacts& facts);

/// For slots so large that BAR1 has room for a few only: how many. Empty where that is no matter.
std::optional<std::string> ringText(const BufferFacts& facts);

/// "written by a software device"; what has not been tried is left away.
std::string proofText(const Proof& proof);

/// Who moves bytes into and out of such slots, for a peer that is software.
Agent moverOf(const BufferFacts& memory);
/// The same for a person: "the GPU's copy engine".
const char* moverName(const BufferFacts& memory);
/// Whether a GPU's driver allocated it, rather than the system.
bool onGpu(const BufferFacts& memory) noexcept;

} // namespace rdmagpu::cli
