#pragma once
#include "failure.hpp"
#include "frames/expected.hpp"

#include <rdmagpu/gpu_selector.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/software_peer.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace rdmagpu::cli {

/// An option whose text `parse` turns into a value or an InputError; the error is a wrong command line.
template <class T, class Parse>
CLI::Option* addParsed(CLI::App& app, const std::string& flag, T& into, Parse parse,
                       const std::string& help) {
  const auto take = [flag, &into, parse](const std::string& text) {
    auto value = parse(text);
    if(!value)
      throw CLI::ValidationError(flag, value.error().message);
    into = *std::move(value);
  };
  return app.add_option_function<std::string>(flag, take, help);
}

/// What the command line says about the slots. Flags mean the same in every command.
struct BufferOptions {
  RdmaGpuApi api{RdmaGpuApi::Auto};
  GpuSelector gpu{};
  std::uint32_t slots{8};
  std::size_t bytes{4147200}; ///< One picture of 1920x1080 in uyvy422.
  GpuPin gpuPin{GpuPin::Off};
  CudaMemory cudaMemory{CudaMemory::Auto};

  RdmaGpuBufferConfig config() const;
};

/// An RDMA NIC.
struct NicOption {
  std::string device;
  std::uint8_t port{1};
};

/// Which device stands on the other side of the slots.
struct PeerOption {
  std::string text{"software"};
  bool present{true};             ///< False: a kind that is known and that nothing here has.
  std::optional<NicOption> nic{}; ///< Of "verbs:DEVICE".
  std::string block{};            ///< Of "block:PATH": the path.
  std::string cuFile{};           ///< Of "cufile:PATH".
  Misbehaviour misbehaviour{};
  std::uint64_t misbehaveAt{};
};

/// "65:00.0" or "0000:65:00.0".
Expected<PciAddress> parsePci(const std::string& text);

/// The failure of naming a peer that the command does not have; `present` is what it has.
Failure absentPeer(const char* command, const PeerOption& peer, const char* present);

void addApi(CLI::App& app, RdmaGpuApi& api);
void addGpu(CLI::App& app, GpuSelector& gpu);
/// Says on stderr that --gpu had no effect, where the slots lie on no GPU, and why they do not.
void noteUnusedGpu(const char* command, const GpuSelector& gpu, const RdmaGpuBuffer& buffer);
void addCudaMemory(CLI::App& app, CudaMemory& memory);
void addGpuPin(CLI::App& app, GpuPin& pin);
void addSlots(CLI::App& app, std::uint32_t& slots);
void addBytes(CLI::App& app, std::size_t& bytes);
void addPeer(CLI::App& app, PeerOption& peer);
void addGid(CLI::App& app, std::optional<std::uint32_t>& gid);
/// The same for a peer that may do something wrong on purpose.
void addStreamPeer(CLI::App& app, PeerOption& peer);
void addJson(CLI::App& app, bool& json);

Expected<RdmaGpuApi> parseApi(const std::string& text);
Expected<GpuSelector> parseGpu(const std::string& text);
/// "software"; "software:tear@3" for one that does something wrong on purpose; "verbs:mlx5_0:1" for a NIC.
Expected<PeerOption> parsePeer(const std::string& text);

} // namespace rdmagpu::cli
