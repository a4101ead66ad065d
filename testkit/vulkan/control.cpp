#include <vulkan/layer.hpp>

namespace rdmagpu::standin::vulkan {

State& state() {
  static State* const instance = new State; // never destroyed: the loader may call at the end of the process
  return *instance;
}

Instance instanceOf(const void* dispatchable) {
  const std::lock_guard lock{state().mutex};
  return state().instances.at(keyOf(dispatchable));
}

const Device& deviceOf(const void* dispatchable) {
  const std::lock_guard lock{state().mutex};
  return state().devices.at(keyOf(dispatchable));
}

bool isMode(const char* name) {
  const std::lock_guard lock{state().mutex};
  return state().mode == name;
}

std::optional<VkResult> fault(const char* name) {
  State& s = state();
  const std::lock_guard lock{s.mutex};
  ++s.calls[name];
  if(s.callsUntilFailure > 0 && --s.callsUntilFailure == 0) {
    s.failedCall = name;
    return VK_ERROR_UNKNOWN;
  }
  if(s.failName == name)
    return s.failResult;
  return {};
}

void note(const char* kind, int change) {
  const std::lock_guard lock{state().mutex};
  state().objects[kind] += change;
}

} // namespace rdmagpu::standin::vulkan

using rdmagpu::standin::vulkan::state;

/// Starts to count calls anew and makes the n-th one fail with VK_ERROR_UNKNOWN; 0: none.
RDMAGPU_STANDIN_API void rdmagpu_standin_vulkan_fail_call(int n) {
  const std::lock_guard lock{state().mutex};
  state().callsUntilFailure = n;
  state().failedCall.clear();
  state().calls.clear();
}

/// The call that was made to fail; empty when none was.
RDMAGPU_STANDIN_API const char* rdmagpu_standin_vulkan_failed_call() {
  const std::lock_guard lock{state().mutex};
  return state().failedCall.c_str();
}

/// Makes each call of that function fail with that VkResult; an empty name: none.
RDMAGPU_STANDIN_API void rdmagpu_standin_vulkan_fail_named(const char* name, int result) {
  const std::lock_guard lock{state().mutex};
  state().failName = name;
  state().failResult = static_cast<VkResult>(result);
}

/// How many calls of that function were made since rdmagpu_standin_vulkan_fail_call.
RDMAGPU_STANDIN_API int rdmagpu_standin_vulkan_calls(const char* name) {
  const std::lock_guard lock{state().mutex};
  const auto found = state().calls.find(name);
  return found == state().calls.end() ? 0 : found->second;
}

/// What exists now, in words; empty when nothing does. The text lives until the next call.
RDMAGPU_STANDIN_API const char* rdmagpu_standin_vulkan_ledger() {
  const std::lock_guard lock{state().mutex};
  static std::string text;
  text.clear();
  for(const auto& [kind, count] : state().objects) {
    if(count != 0)
      text += std::to_string(count) + " " + kind + "; ";
  }
  return text.c_str();
}

/// How the device is from now on: docs/testkit.md lists the modes. An empty name: as it started.
RDMAGPU_STANDIN_API void rdmagpu_standin_vulkan_mode(const char* name) {
  const std::lock_guard lock{state().mutex};
  state().mode = name;
}

/// The VkBufferUsageFlags of the buffer whose memory peers reach that was made last.
RDMAGPU_STANDIN_API unsigned rdmagpu_standin_vulkan_last_usage() {
  const std::lock_guard lock{state().mutex};
  return state().lastUsage;
}
