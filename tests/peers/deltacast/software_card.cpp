#include "software_card.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace rdmagpu::vhdtest {
namespace {

struct Stream;

struct Slot {
  Stream* stream{};
  std::vector<VHD_APPLICATION_BUFFER_DESCRIPTOR> buffers;
  bool queued{};

  const VHD_APPLICATION_BUFFER_DESCRIPTOR& video() const { return buffers[VHD_SDI_BT_VIDEO]; }
};

struct Stream {
  ULONG type{};
  bool applicationBuffers{};
  bool running{};
  ULONG dropped{};
  std::deque<Slot*> waiting; ///< For the card.
  std::deque<Slot*> done;    ///< For the application.
  std::uint64_t frame{};
  std::uint64_t filled{};
  std::thread thread;

  bool receives() const { return type == VHD_ST_RX0; }
};

struct Failure {
  ULONG code{};
  int skip{};
  int times{};
};

struct Card {
  std::mutex mutex;
  std::condition_variable changed;
  CardConfig config;
  std::map<HANDLE, std::unique_ptr<Stream>> streams;
  std::map<HANDLE, std::unique_ptr<Slot>> slots;
  std::map<std::string, Failure> failures;
  std::vector<std::string> calls;
  std::vector<std::string> violations;
  std::vector<Bytes> sent;
  std::vector<VHD_APPLICATION_BUFFER_DESCRIPTOR> descriptors;
};

Card& card() {
  static Card one;
  return one;
}

bool mapped(const void* address) {
  const auto page = reinterpret_cast<std::uintptr_t>(address) / 4096 * 4096;
  unsigned char resident{};
  return mincore(reinterpret_cast<void*>(page), 1, &resident) == 0;
}

/// One call of the SDK: under the lock, with its rules.
class Call {
public:
  explicit Call(const char* name) : m_lock(card().mutex), m_name(name) {
    card().calls.emplace_back(name);
    const auto found = card().failures.find(name);
    if(found == card().failures.end() || found->second.times == 0 || found->second.skip-- > 0)
      return;
    --found->second.times;
    found->second.skip = 0;
    failed = found->second.code;
  }

  /// A rule was broken.
  ULONG broken(const std::string& rule, ULONG code) {
    card().violations.push_back(m_name + ": " + rule);
    return code;
  }

  Stream* stream(HANDLE handle) {
    const auto found = card().streams.find(handle);
    if(found == card().streams.end()) {
      broken("no such stream", VHDERR_INVALIDHANDLE);
      return nullptr;
    }
    return found->second.get();
  }

  Slot* slot(HANDLE handle) {
    const auto found = card().slots.find(handle);
    if(found == card().slots.end()) {
      broken("no such slot", VHDERR_INVALIDHANDLE);
      return nullptr;
    }
    return found->second.get();
  }

  std::unique_lock<std::mutex>& lock() { return m_lock; }
  ULONG failed = VHDERR_NOERROR;

private:
  std::unique_lock<std::mutex> m_lock;
  std::string m_name;
};

void checkMemory(Call& call, const Slot& slot) {
  for(const auto& buffer : slot.buffers) {
    if(buffer.pBuffer && !mapped(buffer.pBuffer))
      call.broken("memory was freed while a slot used it", VHDERR_FATALERROR);
  }
}

void destroySlots(Call& call, Stream& stream) {
  std::erase_if(card().slots, [&](const auto& entry) {
    if(entry.second->stream != &stream)
      return false;
    checkMemory(call, *entry.second);
    return true;
  });
  stream.waiting.clear();
  stream.done.clear();
}

void joinStream(Call& call, Stream& stream) {
  stream.running = false;
  card().changed.notify_all();
  call.lock().unlock();
  if(stream.thread.joinable())
    stream.thread.join();
  call.lock().lock();
}

void receive(Stream& stream, Slot& slot) {
  const CardConfig& config = card().config;
  const std::size_t bytes = config.bufferBytes[VHD_SDI_BT_VIDEO];
  const Bytes frame = frameOf(stream.frame, bytes);
  const std::size_t part = config.written ? config.written(stream.filled++, bytes) : bytes;
  std::memcpy(slot.video().pBuffer, frame.data(), part);
  for(ULONG type = 0; type < NB_VHD_SDI_BUFFERTYPE; ++type) {
    if(type != VHD_SDI_BT_VIDEO && config.bufferBytes[type] != 0)
      std::memset(slot.buffers[type].pBuffer, static_cast<int>(type), config.bufferBytes[type]);
  }
}

void transmit(const Slot& slot) {
  Bytes frame(card().config.bufferBytes[VHD_SDI_BT_VIDEO]);
  std::memcpy(frame.data(), slot.video().pBuffer, frame.size());
  card().sent.push_back(std::move(frame));
}

void run(Stream& stream) {
  std::unique_lock lock{card().mutex};
  auto due = std::chrono::steady_clock::now();
  while(stream.running) {
    due += card().config.period;
    if(card().changed.wait_until(lock, due, [&] { return !stream.running; }))
      return;
    if(stream.receives() && stream.frame >= card().config.frames)
      continue;
    if(stream.waiting.empty()) {
      ++stream.dropped;
    } else {
      Slot& slot = *stream.waiting.front();
      if(stream.receives())
        receive(stream, slot);
      else
        transmit(slot);
      stream.waiting.pop_front();
      stream.done.push_back(&slot);
      card().changed.notify_all();
    }
    ++stream.frame;
  }
}

ULONG queue(const char* name, HANDLE handle, bool in) {
  Call call{name};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Slot* slot = call.slot(handle);
  if(!slot)
    return VHDERR_INVALIDHANDLE;
  if(slot->stream->receives() != in)
    return call.broken("a stream of the other direction", VHDERR_INVALIDSTREAM);
  if(slot->queued)
    return call.broken("the slot is queued already", VHDERR_RESOURCELOCKED);
  if(slot->stream->waiting.size() + slot->stream->done.size() == 32)
    return call.broken("the queue has 32 slots already", VHDERR_NOTENOUGHRESOURCE);
  slot->queued = true;
  slot->stream->waiting.push_back(slot);
  return VHDERR_NOERROR;
}

ULONG wait(const char* name, HANDLE handle, HANDLE* slot, ULONG timeout, bool in) {
  Call call{name};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Stream* stream = call.stream(handle);
  if(!stream)
    return VHDERR_INVALIDHANDLE;
  if(stream->receives() != in)
    return call.broken("a stream of the other direction", VHDERR_INVALIDSTREAM);
  if(!stream->running)
    return call.broken("the stream does not run", VHDERR_STREAMNOTRUNNING);
  card().calls.pop_back(); // there may be any number of these
  if(!card().changed.wait_for(call.lock(), std::chrono::milliseconds{timeout},
                              [&] { return !stream->done.empty(); }))
    return VHDERR_TIMEOUT;
  Slot* first = stream->done.front();
  stream->done.pop_front();
  first->queued = false;
  *slot = first;
  return VHDERR_NOERROR;
}

} // namespace

Bytes frameOf(std::uint64_t n, std::size_t bytes) {
  Bytes frame(bytes, static_cast<std::byte>(n + 1));
  for(std::size_t i = 0; i + 8 <= bytes; i += 512)
    std::memcpy(frame.data() + i, &n, sizeof n);
  return frame;
}

void reset(const CardConfig& config) {
  Card& one = card();
  const std::lock_guard lock{one.mutex};
  one.config = config;
  one.failures.clear();
  one.calls.clear();
  one.violations.clear();
  one.sent.clear();
  one.descriptors.clear();
}

void failCall(const std::string& call, ULONG code, int n, int times) {
  const std::lock_guard lock{card().mutex};
  card().failures[call] = {code, n - 1, times};
}

std::vector<std::string> calls() {
  const std::lock_guard lock{card().mutex};
  return card().calls;
}

std::vector<std::string> violations() {
  const std::lock_guard lock{card().mutex};
  return card().violations;
}

std::vector<Bytes> sent() {
  const std::lock_guard lock{card().mutex};
  return card().sent;
}

std::size_t liveSlots() {
  const std::lock_guard lock{card().mutex};
  return card().slots.size();
}

std::size_t openStreams() {
  const std::lock_guard lock{card().mutex};
  return card().streams.size();
}

std::vector<VHD_APPLICATION_BUFFER_DESCRIPTOR> lastDescriptors() {
  const std::lock_guard lock{card().mutex};
  return card().descriptors;
}

HANDLE openStream(ULONG type) {
  HANDLE stream{};
  VHD_OpenStreamHandle(nullptr, type, VHD_SDI_STPROC_DISJOINED_VIDEO, nullptr, &stream, nullptr);
  return stream;
}

} // namespace rdmagpu::vhdtest

using namespace rdmagpu::vhdtest;

ULONG VHD_OpenBoardHandle(ULONG index, HANDLE* board, HANDLE, ULONG) {
  const Call call{"VHD_OpenBoardHandle"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  if(index != 0)
    return VHDERR_NOTFOUND;
  *board = &card();
  return VHDERR_NOERROR;
}

ULONG VHD_CloseBoardHandle(HANDLE) {
  Call call{"VHD_CloseBoardHandle"};
  if(!card().streams.empty())
    return call.broken("a stream is open", VHDERR_RESOURCELOCKED);
  return VHDERR_NOERROR;
}

ULONG VHD_OpenStreamHandle(HANDLE, ULONG type, ULONG, BOOL32*, HANDLE* stream, HANDLE) {
  const Call call{"VHD_OpenStreamHandle"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  auto made = std::make_unique<Stream>();
  made->type = type;
  *stream = made.get();
  card().streams.emplace(*stream, std::move(made));
  return VHDERR_NOERROR;
}

ULONG VHD_CloseStreamHandle(HANDLE handle) {
  Call call{"VHD_CloseStreamHandle"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Stream* stream = call.stream(handle);
  if(!stream)
    return VHDERR_INVALIDHANDLE;
  joinStream(call, *stream);
  destroySlots(call, *stream);
  card().streams.erase(handle);
  return VHDERR_NOERROR;
}

ULONG VHD_SetStreamProperty(HANDLE handle, ULONG, ULONG) {
  Call call{"VHD_SetStreamProperty"};
  Stream* stream = call.stream(handle);
  if(stream && stream->applicationBuffers)
    return call.broken("application buffers are on", VHDERR_RESOURCELOCKED);
  return stream ? VHDERR_NOERROR : VHDERR_INVALIDHANDLE;
}

ULONG VHD_GetStreamProperty(HANDLE handle, ULONG property, ULONG* value) {
  Call call{"VHD_GetStreamProperty"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  card().calls.pop_back(); // asked for each frame
  Stream* stream = call.stream(handle);
  if(!stream || property != VHD_CORE_SP_SLOTS_DROPPED)
    return VHDERR_BADARG;
  *value = stream->dropped;
  return VHDERR_NOERROR;
}

ULONG VHD_StartStream(HANDLE handle) {
  Call call{"VHD_StartStream"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Stream* stream = call.stream(handle);
  if(!stream)
    return VHDERR_INVALIDHANDLE;
  if(stream->running)
    return call.broken("the stream runs", VHDERR_RESOURCELOCKED);
  if(stream->applicationBuffers && stream->waiting.empty())
    return call.broken("no slot is queued", VHDERR_OPERATIONFAILED);
  stream->running = true;
  stream->thread = std::thread{[stream] { run(*stream); }};
  return VHDERR_NOERROR;
}

ULONG VHD_StopStream(HANDLE handle) {
  Call call{"VHD_StopStream"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Stream* stream = call.stream(handle);
  if(!stream)
    return VHDERR_INVALIDHANDLE;
  if(!stream->running && !card().config.stopsIdleStreams)
    return VHDERR_STREAMNOTRUNNING;
  joinStream(call, *stream);
  destroySlots(call, *stream);
  return VHDERR_NOERROR;
}

ULONG VHD_GetSlotBuffer(HANDLE handle, ULONG type, BYTE** buffer, ULONG* size) {
  Call call{"VHD_GetSlotBuffer"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  card().calls.pop_back(); // asked for each frame
  Slot* slot = call.slot(handle);
  if(!slot || type >= NB_VHD_SDI_BUFFERTYPE)
    return VHDERR_INVALIDHANDLE;
  if(slot->queued)
    return call.broken("the slot is queued", VHDERR_RESOURCELOCKED);
  *buffer = slot->buffers[type].pBuffer;
  *size = card().config.bufferBytes[type];
  return VHDERR_NOERROR;
}

ULONG VHD_InitApplicationBuffers(HANDLE handle) {
  Call call{"VHD_InitApplicationBuffers"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Stream* stream = call.stream(handle);
  if(!stream)
    return VHDERR_INVALIDHANDLE;
  if(stream->running || stream->applicationBuffers)
    return call.broken("too late, or twice", VHDERR_RESOURCELOCKED);
  stream->applicationBuffers = true;
  return VHDERR_NOERROR;
}

ULONG VHD_GetApplicationBuffersSize(HANDLE handle, ULONG type, ULONG* size) {
  Call call{"VHD_GetApplicationBuffersSize"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Stream* stream = call.stream(handle);
  if(!stream || !stream->applicationBuffers || type >= NB_VHD_SDI_BUFFERTYPE)
    return call.broken("no application buffers, or no such type", VHDERR_BADARG);
  *size = card().config.bufferBytes[type];
  return VHDERR_NOERROR;
}

ULONG VHD_CreateSlotEx(HANDLE handle, VHD_APPLICATION_BUFFER_DESCRIPTOR* descriptors, HANDLE* created) {
  Call call{"VHD_CreateSlotEx"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Stream* stream = call.stream(handle);
  if(!stream || !stream->applicationBuffers || stream->running)
    return call.broken("no application buffers, or the stream runs", VHDERR_INVALIDSTREAM);
  auto slot = std::make_unique<Slot>();
  slot->stream = stream;
  slot->buffers.assign(descriptors, descriptors + NB_VHD_SDI_BUFFERTYPE);
  card().descriptors = slot->buffers;
  for(ULONG type = 0; type < NB_VHD_SDI_BUFFERTYPE; ++type) {
    const auto& buffer = slot->buffers[type];
    if(buffer.Size != sizeof buffer)
      return call.broken("a descriptor without its size", VHDERR_BADARG);
    if((card().config.bufferBytes[type] != 0) != (buffer.pBuffer != nullptr))
      return call.broken("the array is indexed by type", VHDERR_INVALIDPOINTER);
    if(reinterpret_cast<std::uintptr_t>(buffer.pBuffer) % 4096 != 0)
      return call.broken("a buffer is not aligned to 4096 bytes", VHDERR_INVALIDPOINTER);
    if(buffer.RDMAEnabled && !card().config.takesRdma)
      return VHDERR_OPERATIONFAILED;
  }
  *created = slot.get();
  card().slots.emplace(*created, std::move(slot));
  return VHDERR_NOERROR;
}

ULONG VHD_DestroySlot(HANDLE handle) {
  Call call{"VHD_DestroySlot"};
  if(call.failed != VHDERR_NOERROR)
    return call.failed;
  Slot* slot = call.slot(handle);
  if(!slot)
    return VHDERR_INVALIDHANDLE;
  if(slot->queued)
    return VHDERR_RESOURCELOCKED;
  checkMemory(call, *slot);
  card().slots.erase(handle);
  return VHDERR_NOERROR;
}

ULONG VHD_QueueInSlot(HANDLE slot) { return queue("VHD_QueueInSlot", slot, true); }
ULONG VHD_QueueOutSlot(HANDLE slot) { return queue("VHD_QueueOutSlot", slot, false); }
ULONG VHD_WaitSlotFilled(HANDLE stream, HANDLE* slot, ULONG timeout) {
  return wait("VHD_WaitSlotFilled", stream, slot, timeout, true);
}
ULONG VHD_WaitSlotSent(HANDLE stream, HANDLE* slot, ULONG timeout) {
  return wait("VHD_WaitSlotSent", stream, slot, timeout, false);
}
