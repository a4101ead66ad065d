// Linked into every program for Clang's ThreadSanitizer. Its runtime needs the standard library, which
// would be initialised first and find the runtime not ready.
extern "C" void __tsan_init();

namespace {
[[gnu::section(".preinit_array"), gnu::used]] void (*const init)() = __tsan_init;
} // namespace
