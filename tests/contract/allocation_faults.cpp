#include <contract/allocation_faults.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local int untilFailure = 0;
thread_local bool failed = false;
int (*leftAlone)() = nullptr;

} // namespace

namespace rdmagpu::test {

void failAllocation(int n) noexcept {
  untilFailure = n;
  failed = false;
}

bool allocationFailed() noexcept { return failed; }

void leaveAllocationsAlone(int (*answer)()) noexcept { leftAlone = answer; }

} // namespace rdmagpu::test

void* operator new(std::size_t bytes) {
  if(untilFailure > 0 && !(leftAlone && leftAlone()) && --untilFailure == 0) {
    failed = true;
    throw std::bad_alloc{};
  }
  if(void* memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc{};
}
// As the standard library's own does; AddressSanitizer's does not.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch(const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
