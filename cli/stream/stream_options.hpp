#pragma once
#include "frames/frame_reader.hpp"
#include "options.hpp"
#include "parse/check_mode.hpp"
#include "stream/frame_sequence.hpp"
#include "stream/v4l2_option.hpp"

#include <rdmagpu/slot_ring.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::cli {

struct StreamOptions {
  std::string input; ///< Empty with a device, which has the frames.
  std::optional<PixelFormat> pixelFormat{};
  std::optional<PictureSize> size{};
  std::optional<std::size_t> bytes{};

  BufferOptions buffer; ///< Its bytes come from the input.
  PeerOption peer;
  std::optional<V4l2Option> v4l2{}; ///< Empty: the peer is none of V4L2.
  bool playout{};
  bool staged{};
  std::optional<FaultPolicy> proof{}; ///< Empty: frames are not proven.
  std::optional<Rate> rate{};
  bool rateOfInput{};
  RingPolicy policy{RingPolicy::Fifo};
  std::uint64_t frames{endless};
  std::uint64_t rounds{1};
  bool preload{};
  CheckMode check{};
  std::string out;
  bool json{};
};

/// Adds the command `stream`. The options are filled in when the command line is parsed.
CLI::App* addStreamOptions(CLI::App& program, StreamOptions& options);

} // namespace rdmagpu::cli
