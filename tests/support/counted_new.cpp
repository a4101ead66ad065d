#include <support/counted_new.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace rdmagpu::test {

std::atomic<std::uint64_t> allocations{};
std::atomic<std::int64_t> live{};
std::atomic<std::uint64_t> failing{};

} // namespace rdmagpu::test

namespace {

using namespace rdmagpu::test;

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if(++allocations == failing)
    return nullptr;
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  live += memory ? 1 : 0;
  return memory;
}

void* allocateOrThrow(std::size_t size, std::size_t alignment) {
  if(void* memory = allocate(size, alignment))
    return memory;
  throw std::bad_alloc{};
}

void release(void* memory) noexcept {
  live -= memory ? 1 : 0;
  std::free(memory);
}

} // namespace

constexpr std::size_t plain = alignof(std::max_align_t);
void* operator new(std::size_t size) { return allocateOrThrow(size, plain); }
void* operator new[](std::size_t size) { return allocateOrThrow(size, plain); }
void* operator new(std::size_t size, std::align_val_t align) {
  return allocateOrThrow(size, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return allocateOrThrow(size, static_cast<std::size_t>(align));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, plain); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, plain); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
