#include <cstdlib>

/// Tests find no Vulkan driver but one that they ask for: whichever this machine has would be loaded by each
/// that looks at all backends, and is not what they are about.
namespace {

[[maybe_unused]] const int hidden = setenv("VK_ICD_FILENAMES", "/dev/null", 0); // before any other thread

} // namespace
