#include <cstdlib>

/// Tests find no Vulkan driver but one that they ask for: whichever this machine has would be loaded by each
/// that looks at all backends, and is not what they are about.
namespace {

// Before any other thread.
#ifdef _WIN32
[[maybe_unused]] const int hidden = _putenv("VK_ICD_FILENAMES=NUL");
#else
[[maybe_unused]] const int hidden = setenv("VK_ICD_FILENAMES", "/dev/null", 0);
#endif

} // namespace
