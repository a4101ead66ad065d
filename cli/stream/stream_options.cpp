#include "stream/stream_options.hpp"

#include "parse/byte_size.hpp"
#include "parse/count.hpp"
#include "parse/picture_size.hpp"
#include "parse/rate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>

namespace rdmagpu::cli {
namespace {

Expected<RingPolicy> parsePolicy(const std::string& text) {
  if(text == "fifo")
    return RingPolicy::Fifo;
  if(text == "newest")
    return RingPolicy::Newest;
  return InputError{InputErrorKind::BadValue,
                    fmt::format("{} is no mode: it is fifo or newest", quote(text))};
}

/// Of whole frames: one less than what stands for no limit.
Expected<std::uint64_t> parseFrameCount(const std::string& text) { return parseCount(text, 1, endless - 1); }

void addInput(CLI::App& app, StreamOptions& options) {
  app.add_option(
         "INPUT", options.input,
         "A Y4M file, a file of raw frames (with --pix and --size, or --bytes), or - for a pipe; none with a "
         "--peer that has frames of its own")
      ->type_name("");
  addParsed(app, "--pix", options.pixelFormat, parsePixelFormat,
            fmt::format("Pixel format of raw frames, by FFmpeg's name: {}", pixelFormatNames()))
      ->type_name("FORMAT")
      ->group("Input");
  addParsed(app, "--size", options.size, parsePictureSize,
            "Size of raw frames in pixels, such as 1920x1080; goes with --pix")
      ->type_name("WxH")
      ->group("Input");
  addParsed(app, "--bytes", options.bytes, parseByteSize,
            "Bytes of one raw frame of any other format, such as 4147200, 64K or 8M, where K is 1024")
      ->type_name("SIZE")
      ->group("Input");
  addParsed(app, "--frames", options.frames, parseFrameCount, "Stop after so many frames (default: no limit)")
      ->type_name("N")
      ->group("Input");
  app.add_flag("--preload", options.preload,
               "Read the whole input into memory first, so that the disk's speed does not count")
      ->group("Input");
}

/// `--loop` and `--loop=N`: with a space a number could not be told from INPUT.
void addLoop(CLI::App& app, StreamOptions& options) {
  const auto take = [&options](const std::string& text) {
    if(text.empty() || text == "true") {
      options.rounds = endless;
      return;
    }
    const auto rounds = parseFrameCount(text);
    if(!rounds)
      throw CLI::ValidationError("--loop", rounds.error().message);
    options.rounds = *rounds;
  };
  CLI::Option* loop = app.add_option_function<std::string>(
      "--loop", take, "Start again at the input's end, N times in all (default without =N: endlessly)");
  loop->expected(0)->type_name("[=N]")->group("Input");
}

/// `--proof` and `--proof=WHAT`, like --loop.
void addProof(CLI::App& app, StreamOptions& options) {
  const auto take = [&options](const std::string& text) {
    if(text.empty() || text == "true" || text == "report")
      options.proof = FaultPolicy::Report;
    else if(text == "drop")
      options.proof = FaultPolicy::Drop;
    else if(text == "fail-over")
      options.proof = FaultPolicy::FailOver;
    else
      throw CLI::ValidationError("--proof",
                                 fmt::format("{} is neither report, drop nor fail-over", quote(text)));
  };
  app.add_option_function<std::string>(
         "--proof", take,
         "Prove that the peer wrote every frame, by canaries in its slots; faulty frames are reported "
         "(default without =WHAT), dropped (=drop), or written again to slots of host memory, with copies "
         "from there on (=fail-over)")
      ->expected(0)
      ->type_name("[=WHAT]")
      ->group("Result");
}

void addTransport(CLI::App& app, StreamOptions& options) {
  app.add_flag("--playout", options.playout,
               "The other way round: the program fills the slots and the peer reads them")
      ->group("Transport");
  app.add_flag("--staged", options.staged,
               "Give the peer slots of host memory, and copy between them and those of --api, as for a card "
               "that cannot reach a GPU's memory")
      ->group("Transport");
  const auto takeRate = [&options](const std::string& text) {
    options.rateOfInput = text == "input";
    if(options.rateOfInput)
      return;
    const auto rate = parseRate(text);
    if(!rate)
      throw CLI::ValidationError("--rate", rate.error().message + ", or input for the Y4M header's rate");
    options.rate = *rate;
  };
  app.add_option_function<std::string>(
         "--rate", takeRate,
         "The peer's clock in frames a second, such as 60, 59.94 or 60000/1001; input: as the Y4M header "
         "says; max (the default): as fast as it goes")
      ->type_name("FPS")
      ->group("Transport");
  addParsed(app, "--mode", options.policy, parsePolicy,
            "Which frame the reader gets: fifo (default), every one in order; newest, the latest, and older "
            "ones are dropped")
      ->type_name("MODE")
      ->group("Transport");
  addStreamPeer(app, options.peer);
}

void addResult(CLI::App& app, StreamOptions& options) {
  addParsed(app, "--check", options.check, parseCheckMode,
            "Which frames are compared with the input: all (default), sample:N for one in N, or none")
      ->type_name("WHICH")
      ->group("Result");
  app.add_option("--out", options.out,
                 "Write the frames that came through to this file, back to back; - for stdout, and then the "
                 "report goes to stderr")
      ->type_name("FILE")
      ->group("Result");
  app.add_flag("--json", options.json, "Print the report as one JSON object")->group("Result");
}

/// Which device it is, and that nothing was asked for that it cannot have.
void takeDevice(const CLI::App& app, StreamOptions& options) {
  if(!namesV4l2(options.peer.text)) {
    if(options.input.empty())
      throw CLI::RequiredError("INPUT");
    return;
  }
  auto device = parseV4l2(options.peer.text);
  if(!device)
    throw CLI::ValidationError("--peer", device.error().message);
  options.v4l2 = *std::move(device);
  const auto refuse = [&app](std::initializer_list<const char*> others, const char* why) {
    for(const char* other : others) {
      if(app.count(other) > 0)
        throw CLI::ValidationError(other, why);
    }
  };
  options.check = {CheckMode::Kind::None};
  if(options.playout) {
    refuse({"--check", "--out"},
           "cannot be together with --playout --peer v4l2:...: nobody sees what the device has sent");
    if(options.input.empty())
      throw CLI::RequiredError("INPUT");
    return;
  }
  refuse({"INPUT", "--pix", "--size", "--bytes", "--preload", "--loop", "--check"},
         "cannot be together with --peer v4l2:...: the device makes the frames, and nobody knows them");
  if(options.rateOfInput)
    throw CLI::ValidationError("--rate", "cannot be input together with --peer v4l2:...: there is none");
}

} // namespace

CLI::App* addStreamOptions(CLI::App& program, StreamOptions& options) {
  CLI::App* app = program.add_subcommand(
      "stream", "Move real frames through slots, checked byte for byte, and count them");
  addInput(*app, options);
  addLoop(*app, options);
  addApi(*app, options.buffer.api);
  addSlots(*app, options.buffer.slots);
  addGpu(*app, options.buffer.gpu);
  addCudaMemory(*app, options.buffer.cudaMemory);
  addGpuPin(*app, options.buffer.gpuPin);
  addTransport(*app, options);
  addResult(*app, options);
  addProof(*app, options);
  app->footer("Examples:\n"
              "  ffmpeg -i clip.mov -strict -1 -f yuv4mpegpipe - | rdmagpu stream -\n"
              "  rdmagpu stream clip.y4m --rate input --mode newest\n"
              "  rdmagpu stream clip.raw --pix uyvy422 --size 1920x1080 --out copy.raw\n"
              "  rdmagpu stream clip.raw --pix v210 --size 3840x2160 --preload --playout\n"
              "  rdmagpu stream clip.y4m --api cuda --check sample:30\n"
              "  rdmagpu stream clip.y4m --api cuda --staged --proof\n"
              "  rdmagpu stream --peer v4l2:/dev/video0,format=UYVY,size=1280x720 --out a.raw\n"
              "  rdmagpu stream a.y4m --playout --peer v4l2:/dev/video1\n"
              "Exit status: 0 no checked frame is wrong (drops are no mistake), 1 a mismatch,\n"
              "a fault that --proof found or bad input, 2 wrong command line, 130 after\n"
              "Ctrl-C; what was done so far is reported in each case.");
  app->callback([app, &options] {
    takeDevice(*app, options);
    if(options.json && options.out == "-")
      throw CLI::ValidationError("--json", "cannot be together with --out -: both write to stdout");
    if(options.proof && options.playout)
      throw CLI::ValidationError("--proof",
                                 "cannot be together with --playout: a peer that reads leaves no trace");
    if(options.proof == FaultPolicy::FailOver && options.staged)
      throw CLI::ValidationError(
          "--proof", "=fail-over cannot be together with --staged: that is what it fails over to");
  });
  return app;
}

} // namespace rdmagpu::cli
