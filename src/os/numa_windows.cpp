#include <os/calls_windows.hpp>
#include <os/numa.hpp>

namespace rdmagpu::os {

Result<int> nodeOf(const void* address) noexcept {
  PSAPI_WORKING_SET_EX_INFORMATION page{};
  page.VirtualAddress = const_cast<void*>(address); // which is not written to
  if(!call::queryWorkingSet(::GetCurrentProcess(), &page, static_cast<DWORD>(sizeof page)))
    return call::queryWorkingSet.refusal();
  return static_cast<int>(page.VirtualAttributes.Node);
}

int currentNode() noexcept {
  PROCESSOR_NUMBER processor{};
  ::GetCurrentProcessorNumberEx(&processor);
  USHORT node{};
  return ::GetNumaProcessorNodeEx(&processor, &node) ? static_cast<int>(node) : -1;
}

int nodeOf(const PciAddress&, const std::string&) { return -1; } // Windows tells it by device, not by address

} // namespace rdmagpu::os
