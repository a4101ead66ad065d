#include "software_mtl.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

struct mtl_main_impl {};

struct st20p_rx_ctx {
  std::vector<st_frame> frames;
  std::vector<bool> withUser;
  std::size_t bytes{};
  std::size_t next{};
  std::uint64_t received{};
};

namespace rdmagpu::mtltest {
namespace {

struct Mapping {
  std::size_t bytes{};
  mtl_iova_t iova{};
};

struct Library {
  mtl_main_impl instance;
  bool running{};
  std::size_t pageBytes{4096};
  std::set<std::string> failing;
  std::map<std::uintptr_t, Mapping> mappings;
  mtl_iova_t nextIova{1U << 30};
  std::unique_ptr<st20p_rx_ctx> session;
  std::vector<std::string> violations;
  ~Library() {
    for(const std::string& rule : violations)
      std::fprintf(stderr, "%s\n", rule.c_str());
    if(!violations.empty())
      std::_Exit(3); // a program that breaks a rule fails
  }
};

Library& library() {
  static Library one;
  return one;
}

int broken(const std::string& rule) {
  library().violations.push_back(rule);
  return -22;
}
bool fails(const char* call) { return library().failing.count(call) != 0; }
std::uintptr_t number(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

/// Whether the library may write there, at that IOVA.
bool reaches(const void* at, mtl_iova_t iova, std::size_t bytes) {
  auto next = library().mappings.upper_bound(number(at));
  if(next == library().mappings.begin())
    return false;
  --next;
  const std::uintptr_t offset = number(at) - next->first;
  return offset + bytes <= next->second.bytes && iova == next->second.iova + offset;
}

} // namespace

mtl_handle start(std::size_t pageBytes) {
  Library& one = library();
  one.running = true;
  one.pageBytes = pageBytes;
  one.failing.clear();
  one.mappings.clear();
  one.violations.clear();
  one.session.reset();
  return &one.instance;
}
void fail(std::set<std::string> calls) { library().failing = std::move(calls); }
std::vector<std::string> violations() { return library().violations; }
std::size_t mapped() { return library().mappings.size(); }

std::vector<std::byte> frameOf(std::uint64_t n, std::size_t bytes) {
  std::vector<std::byte> frame(bytes);
  for(std::size_t i = 0; i < bytes; ++i)
    frame[i] = static_cast<std::byte>(i * 7 + n * 13 + i / 256);
  return frame;
}

} // namespace rdmagpu::mtltest

using namespace rdmagpu::mtltest;

mtl_handle mtl_init(mtl_init_params* params) {
  if(params->num_ports == 0)
    broken("mtl_init: no port");
  return start();
}
int mtl_uninit(mtl_handle) {
  if(library().session || !library().mappings.empty())
    return broken("mtl_uninit: a session or a mapping is there");
  library().running = false;
  return 0;
}
size_t mtl_page_size(mtl_handle) { return library().pageBytes; }

mtl_iova_t mtl_dma_map(mtl_handle, const void* at, size_t bytes) {
  const std::size_t page = library().pageBytes;
  if(!library().running || number(at) % page != 0 || bytes == 0 || bytes % page != 0) {
    broken("mtl_dma_map: not of whole pages");
    return MTL_BAD_IOVA;
  }
  for(const auto& [start, mapping] : library().mappings) {
    if(number(at) < start + mapping.bytes && start < number(at) + bytes) {
      broken("mtl_dma_map: overlaps another mapping");
      return MTL_BAD_IOVA;
    }
  }
  if(fails("mtl_dma_map"))
    return MTL_BAD_IOVA;
  const mtl_iova_t iova = std::exchange(library().nextIova, library().nextIova + bytes);
  library().mappings[number(at)] = {bytes, iova};
  return iova;
}

int mtl_dma_unmap(mtl_handle, const void* at, mtl_iova_t iova, size_t bytes) {
  const auto found = library().mappings.find(number(at));
  if(!library().running || found == library().mappings.end() || found->second.iova != iova ||
     found->second.bytes != bytes)
    return broken("mtl_dma_unmap: was not mapped like that");
  if(library().session)
    return broken("mtl_dma_unmap: a session uses it");
  if(fails("mtl_dma_unmap"))
    return -5;
  library().mappings.erase(found);
  return 0;
}

size_t st_frame_size(st_frame_fmt, uint32_t width, uint32_t height, bool) {
  return std::size_t{width} * height * 5 / 2;
}

st20p_rx_handle st20p_rx_create(mtl_handle, st20p_rx_ops* ops) {
  auto session = std::make_unique<st20p_rx_ctx>();
  session->bytes = st_frame_size(ops->output_fmt, ops->width, ops->height, false);
  if(ops->framebuff_cnt < 2)
    broken("st20p_rx_create: framebuff_cnt must be at least 2");
  for(std::uint16_t i = 0; i < ops->framebuff_cnt; ++i) {
    const st_ext_frame& frame = ops->ext_frames[i];
    if(frame.size < session->bytes || !reaches(frame.addr[0], frame.iova[0], session->bytes))
      broken("st20p_rx_create: a frame is too small, or not mapped");
    st_frame& own = session->frames.emplace_back();
    own.addr[0] = frame.addr[0];
    own.iova[0] = frame.iova[0];
    own.data_size = session->bytes;
    own.opaque = frame.opaque;
  }
  session->withUser.resize(session->frames.size());
  library().session = std::move(session);
  return library().session.get();
}

int st20p_rx_free(st20p_rx_handle) {
  library().session.reset();
  return 0;
}

st_frame* st20p_rx_get_frame(st20p_rx_handle session) {
  for(std::size_t i = 0; i < session->frames.size(); ++i) {
    const std::size_t index = (session->next + i) % session->frames.size();
    if(session->withUser[index])
      continue;
    session->withUser[index] = true;
    session->next = index + 1;
    st_frame& frame = session->frames[index];
    frame.timestamp = session->received;
    const auto bytes = frameOf(session->received++, session->bytes);
    std::memcpy(frame.addr[0], bytes.data(), bytes.size());
    return &frame;
  }
  return nullptr;
}

int st20p_rx_put_frame(st20p_rx_handle session, st_frame* frame) {
  const auto index = static_cast<std::size_t>(frame - session->frames.data());
  if(index >= session->frames.size() || !session->withUser[index])
    return broken("st20p_rx_put_frame: a frame that was not got");
  session->withUser[index] = false;
  return 0;
}
