#pragma once
#include <core/stage_pump.hpp>

#include <cstddef>

namespace rdmagpu::core {

/// The size of pieces that copies of a growing frame are made in: small, so that little is left to copy when
/// its end has come, yet not so small that most of a copy's time goes into starting it. By measurement: the
/// smallest power of two, from 64 KiB on, that takes at most twice its share of a whole frame's copy; the
/// whole frame if there is none. Copies what slot 0 holds; none of its bytes may be in use.
Result<std::size_t> measureSlice(StageCopies&, std::size_t frameBytes);

} // namespace rdmagpu::core
