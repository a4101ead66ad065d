#pragma once
#include <driver/cuda.hpp>
#include <profiles.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

/// A software device: CUDA's driver, as far as rdmagpu calls it, without a GPU. Device memory is memfd
/// memory. As strict as the driver that was measured: granularities, alignments, whole mappings, and
/// which calls need a current context. What a program that is right never does (a second free, a use
/// after it) ends the process with a message, unless RDMAGPU_STANDIN_CUDA_MISUSE is "answer": then it
/// is answered as the driver answers it.
///
/// Besides the driver's functions it exports the rdmagpu_standin_cuda_* of control.cpp.
namespace rdmagpu::standin::cuda {

using namespace driver::cuda; // its ABI is what is implemented here
using standin::Profile;
using standin::unknown;

#define RDMAGPU_STANDIN_API extern "C" __attribute__((visibility("default")))

inline constexpr std::size_t granularity = 2U << 20;
inline constexpr std::size_t hostPage = 4096;
inline constexpr int deviceCount = 2;

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

inline constexpr AccessFlags noAccess{};
inline constexpr auto readOnly = static_cast<AccessFlags>(1);

struct Mapping {
  std::size_t bytes{};
  std::shared_ptr<Physical> memory;
  AccessFlags access{noAccess};        ///< Of the GPU that it is on.
  AccessFlags ofOthers[deviceCount]{}; ///< Of the other ones, which execute nothing here.
};

enum class PlainKind : std::uint8_t { Alloc, Pool, Managed };

struct Plain {
  PlainKind kind{};
  int device{};
  bool syncMemops{};
  std::size_t bytes{};
  void* block{}; ///< What was mapped for it.
  std::size_t blockBytes{};
  Context owner{}; ///< Null: it outlives every context.
};

/// One piece of a stream's work.
struct Operation {
  enum class Kind : std::uint8_t { Upload, Download, Record, Kernel };
  Kind kind{};
  DevicePtr device{};
  void* host{};
  std::size_t bytes{};
  std::vector<std::byte> staged{}; ///< What was uploaded from pageable memory.
  Event event{};
  std::uint64_t number{}; ///< Of the record.
  std::function<void()> kernel{};
};

/// A stream: what it has been given and nobody has waited for yet.
struct Work {
  Context context{};
  bool isDefault{};
  int unfinished{}; ///< Kernels that nobody has waited for; of default streams State has them.
  std::deque<Operation> operations;
};

/// An event: where it was recorded last.
struct Record {
  Context context{};
  Stream stream{};
  std::uint64_t number{};
  bool pending{};
  int questionsLeft{};
};

struct Registered {
  std::size_t bytes{};
  Context context{};
  bool allocated{}; ///< By cuMemHostAlloc, which it goes back to.
};

struct LoadedModule {
  Context context{};
  std::string text; ///< Without comments.
};

struct LoadedFunction {
  Module module{};
  std::string name;
};

struct ExecAffinity; ///< CUexecAffinityParam
/// CUctxCreateParams
struct ContextParams {
  ExecAffinity* affinities;
  int affinityCount;
  void* graphics; ///< CUctxCigParam
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
  int unfinished{};            ///< Writes to device memory, and kernels, that nobody has waited for.
  int flushedTo{};             ///< The scope of the last flush; 0: none yet.

  std::map<Stream, Work> streams;
  std::map<Event, Record> events;
  std::set<const void*> gone; ///< Streams and events that went with a context that was destroyed.
  std::map<std::uintptr_t, Registered> registered; ///< Host memory.
  std::map<Module, LoadedModule> modules;
  std::map<Function, LoadedFunction> functions; ///< Each of a module that is there.
  int questionsUntilDone{2};
  bool kernelsWait{}; ///< Until their stream is waited for.

  long exportsMore{}; ///< Bytes by which exports are too large.

  int callsUntilFailure{};
  std::string failedCall;
  std::string failName; ///< Every call of that function fails.
  Status failStatus{};
  std::map<std::string, int> calls;
  int callsUntilShutdown{};
  bool shutDown{};
};

State& state();
/// What that GPU has for attributes. Memory and BAR1 are the machine's.
const Profile& gpu(int ordinal);

/// Prints what the caller did wrong and ends the process; or gives the driver's answer to it.
Status misuse(const char* call, const char* what, Status answer = Status::InvalidValue);

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
  /// Counts the calls that the thread is in.
  struct Inside {
    Inside() noexcept;
    Inside(Inside&&) = delete;
    ~Inside();
  };

  Inside m_inside;
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
/// The stream that a handle stands for: its own, or the current context's default stream.
Stream resolve(Stream);
/// Success, or why the stream cannot be used in the current context.
Status checkStream(Stream);
/// Executes all that the stream was given.
void finishWork(Stream);
/// Whether a copy into or out of that range has not been executed.
bool deviceMemoryIsInUse(DevicePtr address, std::size_t bytes);
/// Executes all that the context's streams were given.
void finishWorkOf(Context);
/// Executes a context's work, and forgets its streams, events and registrations.
void endWorkOf(Context);
/// That its streams and events are about to go with it.
void rememberGone(Context);
/// Takes memory that is no mapping, in the current context.
Status takePlain(DevicePtr* address, std::size_t bytes, PlainKind);
/// Forgets what host memory was pinned in a context that has gone.
void forgetRegistrationsOf(Context);
/// Whether a copy into or out of that pinned host memory has not been executed.
bool hostMemoryIsInUse(std::uintptr_t address, std::size_t bytes);
/// Gives back what lives in a context that has gone.
void freeOwnedBy(Context);
/// Unloads the modules of a context that has gone.
void unloadModulesOf(Context);
/// The driver takes down what there is, as at the end of a process.
void shutDown();
/// Parts of that.
void forgetContexts();
/// How many contexts that cuCtxCreate made are there.
std::size_t createdContexts();
void freeAllPlain();
void freeAllMapped();

/// Whether mappings of one reservation cover [address, address + bytes), and all can be accessed like that.
bool isMapped(DevicePtr address, std::size_t bytes, AccessFlags wanted);
/// Whether the range is mapped, or lies in one plain allocation.
bool isMemory(DevicePtr address, std::size_t bytes, AccessFlags wanted);
/// The mapping or plain allocation that holds the address; null where it does not.
const Mapping* mappingOf(DevicePtr address, DevicePtr* start = nullptr);
const Plain* plainOf(DevicePtr address, DevicePtr* start = nullptr);
/// The pinned host memory that holds the address; null where there is none.
const Registered* registeredOf(std::uintptr_t address, std::uintptr_t* start = nullptr);

inline bool overlaps(std::uintptr_t a, std::size_t aBytes, std::uintptr_t b, std::size_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}
inline std::uintptr_t number(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }
inline void* hostView(DevicePtr address) { return reinterpret_cast<void*>(address); }
inline DevicePtr devicePtr(void* view) { return reinterpret_cast<DevicePtr>(view); }

} // namespace rdmagpu::standin::cuda
