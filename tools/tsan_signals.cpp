// Built into the program for ThreadSanitizer. Its runtime of GCC 12 loses a signal that arrives while a
// thread enters the first blocking call of its life, so the main thread makes one before anybody sends a
// signal.
#include <unistd.h>

namespace {
[[maybe_unused]] const int blockedOnce = ::usleep(1);
} // namespace
