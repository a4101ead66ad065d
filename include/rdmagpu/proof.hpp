#pragma once
#include <rdmagpu/export.hpp>

#include <cstdint>

namespace rdmagpu {

/// The answer to a question that may not have been asked. `Unknown` is not `No`.
enum class Answer : std::uint8_t { Unknown, No, Yes };

/// Who moved the bytes that a proof speaks of. Only `Device` proves a hardware path; the others
/// prove this library's own plumbing.
enum class Agent : std::uint8_t {
  None,
  Cpu,        ///< A CPU store or load, such as a memory copy by this library.
  CopyEngine, ///< The GPU's own copy engine.
  Software,   ///< A software device: a peer or driver that runs on the CPU.
  Device,     ///< The DMA engine of a third-party device.
};

/// How far memory has been proven usable by a peer, step by step.
struct Proof {
  Answer allocated{};
  Answer capable{};  ///< The driver says a peer can reach it. Unknown where no driver is asked (host pages).
  Answer exported{}; ///< A handle for other drivers was made (dma-buf).
  Answer registered{}; ///< A peer accepted it.
  Answer written{};    ///< The peer's bytes arrived, checked on the memory's own side.
  Answer read{};       ///< The peer read the bytes that the memory's own side wrote.
  Agent by{};          ///< Who wrote and read.
};

/// "yes", "no", "not-tried".
RDMAGPU_API const char* name(Answer) noexcept;
/// "none", "cpu", "copy-engine", "software", "device".
RDMAGPU_API const char* name(Agent) noexcept;

} // namespace rdmagpu
