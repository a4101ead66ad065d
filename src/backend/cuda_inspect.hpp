#pragma once
#include <rdmagpu/inspect.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rdmagpu::backend::cuda {

/// As Backend::inspect(). Asks for attributes only, for which no context is needed.
Result<std::optional<MemoryFacts>> inspectMemory(std::uintptr_t begin, std::size_t bytes);

} // namespace rdmagpu::backend::cuda
