#pragma once
#include <string>

namespace rdmagpu::testkit {

/// What LD_LIBRARY_PATH needs to begin with for a driver of that name ("cuda", "cuda-11.4", "cuda-10.1") and
/// the management library beside it; empty when there is no such driver.
std::string libraryPath(const std::string& driver);

} // namespace rdmagpu::testkit
