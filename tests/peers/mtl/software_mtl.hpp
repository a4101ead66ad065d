#pragma once
#include "sdk/mtl/st_pipeline_api.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

/// What is behind the stand-in of the library: what is mapped, one session that receives a frame whenever it
/// is asked for one, and a list of the rules that were broken.
namespace rdmagpu::mtltest {

/// An instance with that page size.
mtl_handle start(std::size_t pageBytes = 4096);
/// From now on only these calls fail.
void fail(std::set<std::string> calls);
std::vector<std::byte> frameOf(std::uint64_t n, std::size_t bytes);
std::vector<std::string> violations();
std::size_t mapped();

} // namespace rdmagpu::mtltest
