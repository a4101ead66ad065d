#pragma once
#include "failure.hpp"

#include <rdmagpu/proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace rdmagpu::cli {

/// Keys stay in the order in which they are documented.
using Json = nlohmann::ordered_json;

/// Indented, with a newline at the end. Bytes that are no UTF-8, which file names may have, are replaced.
std::string jsonText(const Json& json);

/// "0x7f0000000000": JSON's own numbers lose the low bits of addresses in most readers.
std::string addressText(std::uint64_t address);

Json toJson(const Failure& failure);
Json toJson(const Proof& proof);
Json toJson(const BufferFacts& facts);

} // namespace rdmagpu::cli
