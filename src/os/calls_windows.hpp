#pragma once
#include <base/symbol.hpp>
#include <os/error.hpp>
#include <rdmagpu/error.hpp>

#include <cstdint>

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h> // before those that need it

#include <psapi.h>

/// The narrow door to Windows: every call that the library makes on memory, handles and threads is an object
/// here, whose type holds its name and its function, so that an error names the call.
namespace rdmagpu::os {

template <Symbol Name, auto Function>
struct Call {
  static constexpr const char* name() noexcept { return Name.text; }
  template <class... Args>
  auto operator()(Args... args) const noexcept {
    return Function(args...);
  }
  /// The refusal that the call has just left in GetLastError().
  Error refusal(std::uint64_t asked = 0, std::uint64_t limit = 0) const noexcept {
    return error(name(), static_cast<int>(::GetLastError()), asked, limit);
  }
};

namespace call {
inline constexpr Call<"CreateFileMapping", ::CreateFileMappingNumaW> createFileMapping{};
inline constexpr Call<"MapViewOfFileEx", ::MapViewOfFileExNuma> mapViewOfFile{};
inline constexpr Call<"UnmapViewOfFile", ::UnmapViewOfFile> unmapViewOfFile{};
inline constexpr Call<"VirtualAlloc", ::VirtualAllocExNuma> virtualAlloc{};
inline constexpr Call<"VirtualFree", ::VirtualFree> virtualFree{};
inline constexpr Call<"VirtualLock", ::VirtualLock> virtualLock{};
inline constexpr Call<"VirtualQuery", ::VirtualQuery> virtualQuery{};
inline constexpr Call<"SetProcessWorkingSetSize", ::SetProcessWorkingSetSize> setWorkingSet{};
inline constexpr Call<"GetProcessWorkingSetSize", ::GetProcessWorkingSetSize> getWorkingSet{};
inline constexpr Call<"QueryWorkingSetEx", ::K32QueryWorkingSetEx> queryWorkingSet{};
inline constexpr Call<"GlobalMemoryStatusEx", ::GlobalMemoryStatusEx> memoryStatus{};
inline constexpr Call<"GetNumaHighestNodeNumber", ::GetNumaHighestNodeNumber> highestNode{};
inline constexpr Call<"DuplicateHandle", ::DuplicateHandle> duplicateHandle{};
inline constexpr Call<"SetHandleInformation", ::SetHandleInformation> setHandleInformation{};
inline constexpr Call<"CloseHandle", ::CloseHandle> closeHandle{};
inline constexpr Call<"OpenProcessToken", ::OpenProcessToken> openProcessToken{};
inline constexpr Call<"LookupPrivilegeValue", ::LookupPrivilegeValueW> lookupPrivilege{};
inline constexpr Call<"AdjustTokenPrivileges", ::AdjustTokenPrivileges> adjustPrivileges{};
inline constexpr Call<"CreateFile", ::CreateFileW> createFile{};
inline constexpr Call<"ReadFile", ::ReadFile> readFile{};
} // namespace call

/// A handle's 32 significant bits, which Windows guarantees to be enough, as a descriptor is a number.
/// Source: Microsoft, "Interprocess Communication Between 32-bit and 64-bit Applications".
inline HANDLE handleOf(int fd) noexcept {
  return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(fd)); // a handle is a number
}
inline int fdOf(HANDLE handle) noexcept { return static_cast<int>(reinterpret_cast<std::intptr_t>(handle)); }

} // namespace rdmagpu::os
