#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/proof.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu {

class RdmaGpuBuffer;

enum class Severity : std::uint8_t {
  Note,    ///< Good to know; nothing is wrong.
  Warning, ///< Something works less well than it could, or one way of several does not work.
  Blocker, ///< Direct access cannot work before this is changed.
};

/// What a peer can do with a GPU's memory by one route, from best to worst.
enum class Verdict : std::uint8_t { Direct, WriteOnly, ReadOnly, Unknown, Staged, Blocked };

/// By what a peer's driver gets at a GPU's memory.
enum class Route : std::uint8_t {
  DmaBuf,     ///< The driver imports a dma-buf.
  PeerMemory, ///< ibv_reg_mr on a GPU's address, through a peer-memory module.
  NvidiaP2p,  ///< The peer's kernel driver calls nvidia_p2p_get_pages.
  Host,       ///< Slots in host memory, and copies where the GPU has memory of its own.
};

/// How far a peer is from a GPU on the PCI bus, from nearest to farthest.
enum class Distance : std::uint8_t {
  Unknown,
  SameSwitch,
  SameRootPort,
  SameHostBridge,
  OtherHostBridge, ///< Of the same socket, or nobody tells of which.
  AcrossSockets,
};

enum class MachineRole : std::uint8_t { Bridge, Gpu, Nic, Card };

/// The steps that can be tried, in the order in which one needs the other.
enum class StepKind : std::uint8_t {
  DriverLibrary, ///< The library of the GPU's driver is loaded and starts.
  Device,        ///< It offers the GPU.
  Attributes,    ///< It says that peers can reach the GPU's memory.
  Allocation,    ///< Two small slots are allocated on it.
  Reach,         ///< The driver says of those that peers can reach them.
  Export,        ///< They are exported as a dma-buf.
  Registration,  ///< A peer accepts them, by one route.
  Write,         ///< What the peer writes arrives.
  Read,          ///< The peer reads what is there.
};

/// The names in words, for reports: "note", "write-only", "dma-buf", "across-sockets", "gpu",
/// "driver-library". Static text.
RDMAGPU_API const char* name(Severity) noexcept;
RDMAGPU_API const char* name(Verdict) noexcept;
RDMAGPU_API const char* name(Route) noexcept;
RDMAGPU_API const char* name(Distance) noexcept;
RDMAGPU_API const char* name(MachineRole) noexcept;
RDMAGPU_API const char* name(StepKind) noexcept;

/// Something about the machine that is worth telling. Every id is in docs/doctor.md, and stays the same
/// across releases.
struct Finding {
  const char* id = "";
  Severity severity{};
  std::string title;
  std::string evidence; ///< The file and what it says.
  std::string fix;      ///< What to do, ready to be pasted where it is a command; may be empty.
  const char* risk = "";
  std::string device{}; ///< The GPU or peer that it is about; empty: the machine.
};

/// A GPU, a peer, or a bridge on the way to one of them.
struct MachineDevice {
  MachineRole role{};
  std::string id{}; ///< The PCI address, or the name of a device that has none.
  std::string name{};
  std::string driver{};               ///< Of the kernel; empty: none is bound.
  std::vector<std::string> path{};    ///< From the host bridge, "pci0000:16", to the device; empty: unknown.
  std::optional<std::uint64_t> bar{}; ///< Of a GPU: bytes of the window through which it shows its memory.
  int numaNode = -1;
  std::string link{}; ///< "x16 32.0 GT/s"; the speed is of this moment, and GPUs lower it at rest.
};

/// What came of one step.
struct DoctorStep {
  StepKind kind{};
  Answer result{}; ///< Unknown: it was not tried, or nobody answers; `says` has the reason.
  std::string gpu{};
  std::string peer{};           ///< From Registration on.
  std::optional<Route> route{}; ///< Of Export and from Registration on.
  Agent by{};                   ///< Who moved the bytes: only a Device proves a path.
  std::string says{};           ///< What was seen, or the error's message.
};

struct PairVerdict {
  std::string gpu;
  std::string peer; ///< Empty: any peer, of a machine that has none.
  Route route{};
  Verdict verdict{};
  Distance distance{};
  std::vector<const char*> because{}; ///< Ids of findings, the most decisive first.
  bool tried{};                       ///< It follows from a step that was tried, and not from what files say.
};

/// Tries what takes a peer's own library, for diagnose(). rdmagpu::verbs has it for RDMA devices: VerbsTrial.
class RDMAGPU_API PeerTrial {
public:
  virtual ~PeerTrial() = default;
  /// The steps from Registration on, with slots that are on a GPU; `device` is the name of an RDMA device.
  /// Overwrites the slots. Must not throw. An Error ends the examination: only for want of memory.
  virtual Result<std::vector<DoctorStep>> tryPeer(const RdmaGpuBuffer&, const std::string& device) = 0;
};

struct DoctorOptions {
  std::string root{}; ///< Replaces "/": a recorded machine, whose steps are those that were recorded.
  std::string gpu{};  ///< Only this GPU, by its PCI address.
  std::string peer{}; ///< Only this peer, by its PCI address or the name of its RDMA device.
  /// Tries the steps from Allocation on, too, which need a GPU's memory and may need a context of its driver.
  /// On this machine, also where `root` names another one's files.
  bool tryMemory{};
  PeerTrial* peers{}; ///< Tries the steps from Registration on; null: they cannot be tried.
};

struct DoctorReport {
  Verdict verdict{}; ///< The best that any pair has; Blocked where there is no GPU.
  std::string kernel;
  std::string driver;              ///< NVIDIA's version and flavour; empty: there is none.
  std::vector<Finding> findings{}; ///< The worst first.
  std::vector<DoctorStep> steps{}; ///< GPU by GPU, in their order; empty: of a recorded machine none.
  std::vector<PairVerdict> pairs{};
  std::vector<MachineDevice> devices{};
  std::vector<std::string> rootWouldAdd{}; ///< What only the superuser can read, and was not read.
};

/// Looks at what the kernel tells of this machine, tries the steps that need no GPU context (those before
/// Allocation, for which the driver's library is loaded), and concludes which peers can reach which GPU's
/// memory. A step that was tried counts for more than what files say. Changes nothing. What is missing or
/// damaged counts as unknown. An Error: a device that the options name is not there, or there was no memory.
RDMAGPU_API Result<DoctorReport> diagnose(const DoctorOptions& options = {});

/// A kind of finding, as docs/doctor.md lists them.
struct FindingKind {
  const char* id;
  Severity severity;
  const char* title;
  const char* fix;
  const char* risk;
};
RDMAGPU_API std::span<const FindingKind> findingKinds() noexcept;

/// What an error or a line of the kernel's log may mean.
struct Explanation {
  std::string matched; ///< What of the text was known, such as "ibv_reg_mr EFAULT".
  const char* finding = "";
  std::vector<const char*> causes{}; ///< What to do about it, the most likely cause first; static text.
};

/// Explains any text with an error in it: "ibv_reg_mr 14", "CUDA_ERROR_NOT_SUPPORTED", a line of dmesg. The
/// best match first; empty where nothing in it is known.
RDMAGPU_API Result<std::vector<Explanation>> explain(std::string_view text);

} // namespace rdmagpu
