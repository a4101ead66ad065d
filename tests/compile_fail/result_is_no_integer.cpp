// expect: convert|conversion
#include <rdmagpu/error.hpp>

int use(const rdmagpu::Result<int>& result) {
#ifdef VIOLATION
  return result;
#endif
  return result ? *result : -1;
}
