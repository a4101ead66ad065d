#pragma once
#include <driver/cuda.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// A software device: CUDA's driver, as far as rdmagpu calls it, without a GPU. Device memory is memfd
/// memory. As strict as the driver that was measured: granularities, alignments, whole mappings, and
/// which calls need a current context. What the driver leaves undefined (a second free, a use after
/// it) ends the process with a message.
///
/// Besides the driver's functions it exports the rdmagpu_standin_cuda_* of control.cpp.
namespace rdmagpu::standin::cuda {

using namespace driver::cuda; // its ABI is what is implemented here

#define RDMAGPU_STANDIN_API extern "C" __attribute__((visibility("default")))

inline constexpr std::size_t granularity = 2U << 20;
inline constexpr std::size_t hostPage = 4096;
inline constexpr std::size_t totalBytes = std::size_t{141} << 30;
inline constexpr int deviceCount = 2;

/// What a GPU can do: the answers of the driver on a kind of machine.
struct Profile {
  const char* name;
  int integrated;
  int vmm;
  int rdma;
  int rdmaWithVmm;
  bool vmmIsCapable; ///< What the pointer attribute says of memory made with the RDMA flag.
  int dmaBuf;
  int posixFd;
  int ordering;
  int devices;
};

/// Physical memory of the VMM: there while a handle or a mapping is.
struct Physical {
  int fd = -1;
  std::size_t bytes{};
  AllocationProp prop{};
  bool imported{}; ///< From another process: then the driver no longer calls it capable.
  Physical() = default;
  Physical(Physical&&) = delete;
  ~Physical();
};

struct Mapping {
  std::size_t bytes{};
  std::shared_ptr<Physical> memory;
  bool accessible{};
};

struct Plain {
  std::size_t bytes{};
  void* block{}; ///< What was mapped for it.
  std::size_t blockBytes{};
  Context owner{};
};

struct State {
  std::recursive_mutex mutex;
  const Profile* profile{};
  int process{}; ///< That has called cuInit; 0: none.
  std::size_t used{};
  std::uint64_t lastHandle = 0x100;
  std::map<std::uint64_t, std::shared_ptr<Physical>> handles;
  std::map<DevicePtr, std::size_t> reservations;
  std::map<DevicePtr, Mapping> mappings;
  std::map<DevicePtr, Plain> plain;
  int retained[deviceCount]{}; ///< How often each primary context is.
  int unfinished{};            ///< Writes to device memory that nobody has waited for.

  int callsUntilFailure{};
  std::string failedCall;
  std::string failName; ///< Every call of that function fails.
  Status failStatus{};
  std::map<std::string, int> calls;
};

State& state();

/// Prints what the caller did wrong and ends the process.
[[noreturn]] void misuse(const char* call, const char* what);

/// One call of the driver: under the lock, counted, and perhaps made to fail.
class Call {
public:
  explicit Call(const char* name);
  /// What to return at once: a fault that was ordered, or that the driver is not initialised.
  Status refusal() const noexcept { return m_refusal; }
  bool refused() const noexcept { return m_refusal != Status::Success; }
  /// What to return at the end of a call that gives something back: an ordered fault is told after
  /// it was given back all the same.
  Status outcome() const noexcept { return m_outcome; }

private:
  std::unique_lock<std::recursive_mutex> m_lock;
  Status m_refusal{};
  Status m_outcome{};
};

bool isDevice(Device) noexcept;
/// The context that is current on this thread; null when there is none.
Context current();
/// Success, or why the current context cannot be used.
Status checkContext();
int deviceOf(Context);
/// Gives back what lives in a context that has gone.
void freeOwnedBy(Context);

/// Whether [address, address + bytes) lies in one piece of memory that can be accessed.
bool isAccessible(DevicePtr address, std::size_t bytes);
/// The mapping or plain allocation that holds the address; null where it does not.
const Mapping* mappingOf(DevicePtr address, DevicePtr* start = nullptr);
const Plain* plainOf(DevicePtr address, DevicePtr* start = nullptr);

inline void* hostView(DevicePtr address) { return reinterpret_cast<void*>(address); }
inline DevicePtr devicePtr(void* view) { return reinterpret_cast<DevicePtr>(view); }

} // namespace rdmagpu::standin::cuda
