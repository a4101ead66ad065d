#include "software_aja.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

namespace rdmagpu::ajatest {
namespace {

constexpr std::uintptr_t gpuPage = 65536;

struct Lock {
  ULWord bytes{};
  bool rdma{};
};

struct Card {
  ~Card() {
    for(const std::string& rule : violations)
      std::fprintf(stderr, "%s\n", rule.c_str());
    if(!violations.empty())
      std::_Exit(3); // a program that breaks a rule fails
  }
  CardConfig config;
  bool open{};
  std::map<std::uintptr_t, Lock> locks;
  std::map<ULWord, std::vector<std::byte>> frames;
  std::vector<std::string> violations;
  ULWord input{};
};

Card& card() {
  static Card one;
  return one;
}

std::uintptr_t number(const ULWord* address) { return reinterpret_cast<std::uintptr_t>(address); }

bool mapped(std::uintptr_t address) {
  unsigned char resident{};
  return mincore(reinterpret_cast<void*>(address / 4096 * 4096), 1, &resident) == 0;
}

/// Whether a call goes on: the rules that all have.
bool enter(const char* call) {
  if(!card().open)
    card().violations.push_back(std::string{call} + ": the card is not open");
  return card().open && card().config.failing.count(call) == 0;
}

bool broken(const std::string& rule) {
  card().violations.push_back(rule);
  return false;
}

/// The lock that covers a transfer. Without one the driver locks host memory by itself.
const Lock* lockOf(const ULWord* at, ULWord bytes) {
  auto next = card().locks.upper_bound(number(at));
  if(next == card().locks.begin())
    return nullptr;
  --next;
  if(number(at) >= next->first + next->second.bytes)
    return nullptr;
  if(number(at) + bytes > next->first + next->second.bytes)
    broken("transfer: passes the end of what is locked");
  return &next->second;
}

} // namespace

void reset(const CardConfig& config) {
  card() = {};
  card().config = config;
}
std::vector<std::string> violations() { return card().violations; }
std::size_t locked() { return card().locks.size(); }
std::size_t lockedForRdma() {
  std::size_t n = 0;
  for(const auto& [address, lock] : card().locks)
    n += lock.rdma ? 1 : 0;
  return n;
}

std::vector<std::byte> frameOf(ULWord n, std::size_t bytes) {
  std::vector<std::byte> frame(bytes);
  for(std::size_t i = 0; i < bytes; ++i)
    frame[i] = static_cast<std::byte>(i * 7 + n * 13 + i / 256);
  return frame;
}

} // namespace rdmagpu::ajatest

using namespace rdmagpu::ajatest;

CNTV2Card::~CNTV2Card() { Close(); }

bool CNTV2Card::Open(const UWord) { return card().open = card().config.present; }

bool CNTV2Card::Close() {
  if(std::exchange(card().open, false) && !card().locks.empty())
    broken("Close: memory is still locked");
  return true;
}

bool CNTV2Card::DMABufferLock(const ULWord* at, const ULWord bytes, bool, bool rdma) {
  if(!enter("DMABufferLock"))
    return false;
  if(!at || bytes == 0)
    return broken("DMABufferLock: nothing to lock");
  if(rdma && (number(at) % gpuPage != 0 || bytes % gpuPage != 0))
    return broken("DMABufferLock: not of whole pages of the GPU");
  if(lockOf(at, 0))
    return broken("DMABufferLock: locked already");
  const int limit = card().config.lockLimit;
  if((rdma && !card().config.takesRdma) ||
     (limit >= 0 && card().locks.size() >= static_cast<std::size_t>(limit)))
    return false;
  card().locks[number(at)] = {bytes, rdma};
  return true;
}

bool CNTV2Card::DMABufferUnlock(const ULWord* at, const ULWord bytes) {
  if(!enter("DMABufferUnlock"))
    return false;
  const auto found = card().locks.find(number(at));
  if(found == card().locks.end() || found->second.bytes != bytes)
    return broken("DMABufferUnlock: was not locked like that");
  if(!mapped(found->first))
    broken("DMABufferUnlock: memory was freed while it was locked");
  card().locks.erase(found);
  return true;
}

bool CNTV2Card::DMAReadFrame(const ULWord frame, ULWord* to, const ULWord bytes) {
  if(!enter("DMAReadFrame"))
    return false;
  const Lock* lock = lockOf(to, bytes);
  auto& memory = card().frames[frame];
  memory.resize(std::max<std::size_t>(memory.size(), bytes));
  if(!lock || !lock->rdma || card().config.delivers)
    std::memcpy(to, memory.data(), bytes);
  return true;
}

bool CNTV2Card::DMAWriteFrame(const ULWord frame, const ULWord* from, const ULWord bytes) {
  if(!enter("DMAWriteFrame"))
    return false;
  (void)lockOf(from, bytes);
  auto& memory = card().frames[frame];
  memory.resize(std::max<std::size_t>(memory.size(), bytes));
  std::memcpy(memory.data(), from, bytes);
  return true;
}

bool CNTV2Card::WaitForInputVerticalInterrupt(const NTV2Channel, UWord) {
  if(!enter("WaitForInputVerticalInterrupt"))
    return false;
  card().input = (card().input + 1) % 2;
  card().frames[card().input] = frameOf(card().input, 1920 * 1080 * 2);
  return true;
}

bool CNTV2Card::GetInputFrame(const NTV2Channel, ULWord& frame) {
  frame = card().input;
  return enter("GetInputFrame");
}
