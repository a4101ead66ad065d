#include <base/library_error.hpp>
#include <os/files.hpp>
#include <os/library.hpp>
#include <os/process.hpp>
#include <storage/cufile_driver.hpp>

#include <mutex>
#include <new>
#include <optional>

namespace rdmagpu::storage {
namespace {

constexpr const char* soname = "libcufile.so.0";

struct Library {
  Result<os::Library> library = os::Library::open(soname); // what the functions' loader refers to
  Error absence{};
  std::optional<api::Functions> functions;
  std::mutex mutex;
  std::uint64_t process{}; ///< The one that has opened cuFile; 0: none. Under mutex.

  Library() noexcept {
    if(!library) {
      absence = library.error();
      return;
    }
    functions.emplace(*library);
    if(const char* missing = functions->load.missing())
      absence = libraryError(missing, LibraryCode::DriverTooOld);
  }
};

Library& library() noexcept {
  static Library loaded;
  return loaded;
}

/// Once for the process.
Result<void> open(Library& loaded) noexcept {
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  const std::lock_guard lock{loaded.mutex};
  if(loaded.process == *process)
    return {};
  if(loaded.process != 0)
    return libraryError("cuFileDriverOpen", LibraryCode::ForkedChild);
  if(const auto opened = loaded.functions->call(0, loaded.functions->driverOpen); !opened)
    return opened;
  loaded.process = *process;
  return {};
}

Answer nvidiaFsLoaded() noexcept {
  try {
    const auto there = os::exists("/proc/driver/nvidia-fs");
    return !there ? Answer::Unknown : *there ? Answer::Yes : Answer::No;
  } catch(const std::bad_alloc&) {
    return Answer::Unknown;
  }
}

} // namespace

Route routeOf(const CuFileFacts& facts, bool storageSupported, bool p2pSupported) noexcept {
  const bool nvidiaFs = storageSupported && (facts.nvidiaFsMajor != 0 || facts.nvidiaFsMinor != 0);
  constexpr const char* call = "cuFileDriverGetProperties";
  if(facts.compatForced)
    return {StoragePath::Compatibility, libraryError(call, LibraryCode::CompatModeForced), true};
  if(!nvidiaFs && !p2pSupported)
    return {StoragePath::Compatibility, libraryError(call, LibraryCode::NvidiaFsAbsent), facts.compatAllowed};
  if(facts.compatAllowed)
    return {StoragePath::Undecided, libraryError(call, LibraryCode::CompatModeAllowed), true};
  return {nvidiaFs ? StoragePath::Direct : StoragePath::PeerToPeer, {}, true};
}

Result<CuFileDriver> openCuFile() noexcept {
  Library& loaded = library();
  if(loaded.absence.kind != Errc::None)
    return loaded.absence;
  if(const auto opened = open(loaded); !opened)
    return opened.error();
  const api::Functions& functions = *loaded.functions;
  api::Properties properties{};
  if(const auto told = functions.call(0, functions.driverGetProperties, &properties); !told)
    return told.error();
  CuFileFacts facts{.nvidiaFsMajor = properties.nvfsMajor,
                    .nvidiaFsMinor = properties.nvfsMinor,
                    .compatAllowed = (properties.controlFlags & api::allowCompatMode) != 0,
                    .nvidiaFsLoaded = nvidiaFsLoaded()};
  int version = 0; // older ones do not tell it, nor what is forced
  if(functions.getVersion(&version).error == api::OpError::Success)
    facts.version = version;
  bool forced = false;
  if(functions.getParameterBool(api::BoolParameter::ForceCompatMode, &forced).error == api::OpError::Success)
    facts.compatForced = forced;
  return CuFileDriver{.functions = &functions,
                      .facts = facts,
                      .route = routeOf(facts, properties.statusFlags != 0,
                                       (properties.featureFlags & api::p2pSupported) != 0)};
}

} // namespace rdmagpu::storage
