#include "software_v4l2.hpp"

#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace rdmagpu::v4l2test {
namespace {

constexpr std::chrono::seconds ample{60};

struct Buffer {
  bool queued{};
  bool prepared{};
  QueuedBuffer what{};
  void* pointer{};
  v4l2_buffer done{};
};

struct Failing {
  int code{};
  int after{};
  int times{};
};

struct Card {
  CardConfig config;
  int fd = -1;
  bool unplugged{};
  bool broken{};
  bool ended{};
  bool streaming{};
  std::uint32_t memory{};
  std::uint32_t sequence{};
  std::uint32_t width{320};
  std::uint32_t height{180};
  std::uint32_t pixelFormat{V4L2_PIX_FMT_UYVY};
  v4l2_format asked{};
  v4l2_fract interval{1, 25};
  int input = -1;
  std::vector<Buffer> buffers;
  std::deque<std::uint32_t> pending;
  std::deque<std::uint32_t> completed;
  std::vector<QueuedBuffer> queuedEver;
  std::vector<Bytes> sent;
  std::vector<std::string> rulesBroken;
  std::vector<std::string> calls;
  std::map<unsigned long, Failing> failing;
  std::map<std::string, int> failingSystem;
};

std::mutex mutex;
std::condition_variable changed;
Card card; // NOLINT(cert-err58-cpp): the one device

bool output() {
  return (card.config.capabilities & (V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_VIDEO_OUTPUT_MPLANE)) != 0;
}
bool many() {
  return (card.config.capabilities & (V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_VIDEO_OUTPUT_MPLANE)) != 0;
}
std::uint32_t type() {
  if(output())
    return many() ? V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE : V4L2_BUF_TYPE_VIDEO_OUTPUT;
  return many() ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
}

void signal() { eventfd_write(card.fd, 1); }

int refuse(int code) {
  errno = code;
  return -1;
}

bool broke(bool rule, const char* what) {
  if(rule)
    card.rulesBroken.emplace_back(what);
  return rule;
}

const char* nameOf(unsigned long request) {
  switch(request) {
  case VIDIOC_QUERYCAP:
    return "QUERYCAP";
  case VIDIOC_G_FMT:
    return "G_FMT";
  case VIDIOC_S_FMT:
    return "S_FMT";
  case VIDIOC_S_INPUT:
    return "S_INPUT";
  case VIDIOC_S_OUTPUT:
    return "S_OUTPUT";
  case VIDIOC_G_PARM:
    return "G_PARM";
  case VIDIOC_S_PARM:
    return "S_PARM";
  case VIDIOC_REQBUFS:
    return "REQBUFS";
  case VIDIOC_PREPARE_BUF:
    return "PREPARE_BUF";
  case VIDIOC_QBUF:
    return "QBUF";
  case VIDIOC_DQBUF:
    return "DQBUF";
  case VIDIOC_STREAMON:
    return "STREAMON";
  case VIDIOC_STREAMOFF:
    return "STREAMOFF";
  default:
    return "unknown";
  }
}

/// The one plane, in whichever form the device has it.
template <class Format>
void writeFormat(Format& pix) {
  pix.width = card.width;
  pix.height = card.height;
  pix.pixelformat = card.pixelFormat;
  pix.field = V4L2_FIELD_NONE;
}

int giveFormat(v4l2_format& format) {
  if(many()) {
    writeFormat(format.fmt.pix_mp);
    format.fmt.pix_mp.num_planes = static_cast<std::uint8_t>(card.config.planes);
    format.fmt.pix_mp.plane_fmt[0].bytesperline = card.width * 2;
    format.fmt.pix_mp.plane_fmt[0].sizeimage = card.config.frameBytes;
  } else {
    writeFormat(format.fmt.pix);
    format.fmt.pix.bytesperline = card.width * 2;
    format.fmt.pix.sizeimage = card.config.frameBytes;
  }
  return 0;
}

int setFormatNow(v4l2_format& format) {
  card.asked = format;
  if(!card.buffers.empty())
    return refuse(EBUSY);
  const auto take = [](const auto& pix) {
    card.width = std::min(pix.width, 1280U) / 16 * 16; // as drivers round
    card.height = pix.height;
    if(pix.pixelformat != V4L2_PIX_FMT_H264) // has no such format
      card.pixelFormat = pix.pixelformat;
  };
  if(many())
    take(format.fmt.pix_mp);
  else
    take(format.fmt.pix);
  return giveFormat(format);
}

void takeBack() {
  for(Buffer& buffer : card.buffers)
    buffer.queued = buffer.prepared = false;
  eventfd_t all = 0;
  while(!card.completed.empty()) {
    eventfd_read(card.fd, &all);
    card.completed.pop_front();
  }
  card.pending.clear();
}

int requestBuffers(v4l2_requestbuffers& request) {
  const bool dmaBuf = request.memory == V4L2_MEMORY_DMABUF;
  if(dmaBuf ? !card.config.takesDmaBufs : !card.config.takesPointers)
    return refuse(EINVAL);
  if(broke(request.type != type(), "a queue of another type"))
    return refuse(EINVAL);
  if(broke(card.streaming, "REQBUFS while streaming"))
    return refuse(EBUSY);
  takeBack();
  card.memory = request.memory;
  if(request.count != 0)
    request.count = std::clamp(request.count, card.config.fewestBuffers, card.config.mostBuffers);
  card.buffers.assign(request.count, {});
  return 0;
}

/// What QBUF and PREPARE_BUF have in common.
int takeBuffer(const v4l2_buffer& buffer, Buffer*& into) {
  if(broke(buffer.index >= card.buffers.size(), "no such buffer") ||
     broke(buffer.memory != card.memory, "memory of another kind") ||
     broke(buffer.type != type(), "a queue of another type"))
    return refuse(EINVAL);
  into = &card.buffers[buffer.index];
  if(broke(into->queued, "queued twice"))
    return refuse(EINVAL);
  QueuedBuffer what{.index = buffer.index, .memory = buffer.memory, .field = buffer.field};
  if(many()) {
    if(broke(buffer.length != 1 || !buffer.m.planes, "planes are missing"))
      return refuse(EINVAL);
    const v4l2_plane& plane = *buffer.m.planes;
    what.length = plane.length;
    what.bytes = plane.bytesused;
    what.fd = plane.m.fd;
    into->pointer = reinterpret_cast<void*>(plane.m.userptr);
  } else {
    what.length = buffer.length;
    what.bytes = buffer.bytesused;
    what.fd = buffer.m.fd;
    into->pointer = reinterpret_cast<void*>(buffer.m.userptr);
  }
  if(what.length < card.config.frameBytes)
    return refuse(EINVAL);
  if(buffer.memory == V4L2_MEMORY_DMABUF) {
    struct stat status {};
    if(fstat(what.fd, &status) != 0)
      return refuse(EBADF);
    if(static_cast<std::uint64_t>(status.st_size) < what.length)
      return refuse(EINVAL);
    into->pointer = nullptr;
  } else {
    what.fd = -1;
  }
  into->what = what;
  return 0;
}

int queueBuffer(const v4l2_buffer& buffer) {
  Buffer* into{};
  if(takeBuffer(buffer, into) != 0)
    return -1;
  if(output() && into->what.bytes < card.config.frameBytes)
    return refuse(EINVAL);
  into->queued = true;
  card.pending.push_back(buffer.index);
  card.queuedEver.push_back(into->what);
  changed.notify_all();
  return 0;
}

int prepareBuffer(const v4l2_buffer& buffer) {
  if(!card.config.hasPrepare)
    return refuse(ENOTTY);
  Buffer* into{};
  if(takeBuffer(buffer, into) != 0)
    return -1;
  if(broke(into->prepared, "prepared twice"))
    return refuse(EINVAL);
  into->prepared = true;
  return 0;
}

int dequeueBuffer(v4l2_buffer& buffer) {
  if(!card.streaming)
    return refuse(EINVAL);
  if(card.ended)
    return refuse(EPIPE);
  if(card.broken || card.completed.empty())
    return refuse(EAGAIN);
  eventfd_t one{};
  eventfd_read(card.fd, &one);
  Buffer& done = card.buffers[card.completed.front()];
  card.completed.pop_front();
  done.queued = false;
  v4l2_plane* const planes = buffer.m.planes;
  const std::uint32_t bytes = done.done.bytesused;
  buffer = done.done;
  if(!many())
    return 0;
  buffer.m.planes = planes;
  planes->bytesused = bytes;
  planes->data_offset = card.config.dataOffset;
  return 0;
}

int answer(unsigned long request, void* argument) {
  switch(request) {
  case VIDIOC_QUERYCAP: {
    auto& capability = *static_cast<v4l2_capability*>(argument);
    capability.capabilities = 0xFFFFFFFF; // of the physical device; those of this node count
    capability.device_caps = card.config.capabilities;
    return 0;
  }
  case VIDIOC_G_FMT:
    return giveFormat(*static_cast<v4l2_format*>(argument));
  case VIDIOC_S_FMT:
    return setFormatNow(*static_cast<v4l2_format*>(argument));
  case VIDIOC_S_INPUT:
  case VIDIOC_S_OUTPUT:
    card.input = *static_cast<int*>(argument);
    return 0;
  case VIDIOC_S_PARM: {
    const auto& parameters = *static_cast<v4l2_streamparm*>(argument);
    card.interval = output() ? parameters.parm.output.timeperframe : parameters.parm.capture.timeperframe;
    return 0;
  }
  case VIDIOC_G_PARM: {
    auto& parameters = *static_cast<v4l2_streamparm*>(argument);
    (output() ? parameters.parm.output.timeperframe : parameters.parm.capture.timeperframe) = card.interval;
    return 0;
  }
  case VIDIOC_REQBUFS:
    return requestBuffers(*static_cast<v4l2_requestbuffers*>(argument));
  case VIDIOC_PREPARE_BUF:
    return prepareBuffer(*static_cast<v4l2_buffer*>(argument));
  case VIDIOC_QBUF:
    return queueBuffer(*static_cast<v4l2_buffer*>(argument));
  case VIDIOC_DQBUF:
    return dequeueBuffer(*static_cast<v4l2_buffer*>(argument));
  case VIDIOC_STREAMON:
    card.streaming = true;
    changed.notify_all();
    return 0;
  case VIDIOC_STREAMOFF:
    takeBack();
    card.streaming = false;
    return 0;
  default:
    return refuse(ENOTTY);
  }
}

int openDevice(const char*, int) {
  const std::lock_guard lock{mutex};
  if(const auto found = card.failingSystem.find("open"); found != card.failingSystem.end())
    return refuse(found->second);
  card.fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
  return card.fd;
}

int closeDevice(int fd) {
  const std::lock_guard lock{mutex};
  broke(fd != card.fd, "another descriptor was closed");
  card.fd = -1;
  card.buffers.clear();
  card.pending.clear();
  card.completed.clear();
  card.streaming = false;
  return ::close(fd);
}

int control(int fd, unsigned long request, void* argument) {
  const std::lock_guard lock{mutex};
  if(broke(fd != card.fd, "another descriptor was used"))
    return refuse(EBADF);
  if(request != VIDIOC_DQBUF)
    card.calls.emplace_back(nameOf(request));
  if(card.unplugged)
    return refuse(ENODEV);
  if(const auto found = card.failing.find(request); found != card.failing.end()) {
    Failing& failing = found->second;
    if(failing.after > 1)
      --failing.after;
    else if(failing.times > 0) {
      --failing.times;
      return refuse(failing.code);
    }
  }
  return answer(request, argument);
}

int pollDevice(pollfd* fds, nfds_t count, int timeoutMs) {
  {
    const std::lock_guard lock{mutex};
    if(const auto found = card.failingSystem.find("poll"); found != card.failingSystem.end()) {
      const int code = found->second;
      card.failingSystem.erase(found);
      return refuse(code);
    }
  }
  const short wanted = fds[0].events;
  fds[0].events = POLLIN; // of the eventfd
  const int ready = ::poll(fds, count, timeoutMs);
  fds[0].events = wanted;
  const std::lock_guard lock{mutex};
  if(fds[0].revents != 0)
    fds[0].revents = card.unplugged || card.broken ? POLLERR : wanted;
  return ready;
}

} // namespace

Bytes frameOf(std::uint64_t n, std::size_t bytes) {
  Bytes frame(bytes);
  std::uint64_t state = n * 0x9E37'79B9'7F4A'7C15 + 1;
  for(std::byte& byte : frame) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::byte>(state >> 56U);
  }
  return frame;
}

void reset(const CardConfig& config) {
  const std::lock_guard lock{mutex};
  card = Card{};
  card.config = config;
}

peers::V4l2Calls calls() {
  return {.open = openDevice, .close = closeDevice, .ioctl = control, .poll = pollDevice};
}

void failCall(unsigned long request, int code, int n, int times) {
  const std::lock_guard lock{mutex};
  card.failing[request] = {code, n, times};
}

void failSystemCall(const std::string& call, int code) {
  const std::lock_guard lock{mutex};
  card.failingSystem[call] = code;
}

void unplug() {
  const std::lock_guard lock{mutex};
  card.unplugged = true;
  signal();
}

void breakDown() {
  const std::lock_guard lock{mutex};
  card.broken = true;
  signal();
}

void endOfStream() {
  const std::lock_guard lock{mutex};
  card.ended = true;
  signal();
}

bool complete(std::uint64_t n, const Filled& how) {
  std::unique_lock lock{mutex};
  if(!changed.wait_for(lock, ample, [] { return !card.pending.empty() && card.streaming; }))
    return false;
  Buffer& buffer = card.buffers[card.pending.front()];
  const std::uint32_t bytes = how.bytes.value_or(card.config.frameBytes);
  if(buffer.pointer && output())
    card.sent.emplace_back(static_cast<std::byte*>(buffer.pointer),
                           static_cast<std::byte*>(buffer.pointer) + buffer.what.bytes);
  else if(buffer.pointer && how.written && bytes != 0)
    std::memcpy(buffer.pointer, frameOf(n, bytes).data(), std::min(bytes, card.config.frameBytes));
  card.sequence = how.sequence.value_or(card.sequence);
  buffer.done = {};
  buffer.done.index = buffer.what.index;
  buffer.done.bytesused = bytes;
  buffer.done.sequence = card.sequence++;
  buffer.done.flags = how.flags;
  if(card.config.monotonic) {
    buffer.done.flags |= V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    buffer.done.timestamp = {static_cast<time_t>(n), 5000};
  }
  card.completed.push_back(buffer.what.index);
  card.pending.pop_front();
  signal();
  return true;
}

bool awaitQueued(std::size_t count) {
  std::unique_lock lock{mutex};
  return changed.wait_for(lock, ample, [count] { return card.pending.size() == count; });
}

std::vector<QueuedBuffer> queued() {
  const std::lock_guard lock{mutex};
  return card.queuedEver;
}
std::vector<Bytes> sent() {
  const std::lock_guard lock{mutex};
  return card.sent;
}
std::vector<std::string> violations() {
  const std::lock_guard lock{mutex};
  return card.rulesBroken;
}
std::vector<std::string> ioctls() {
  const std::lock_guard lock{mutex};
  return card.calls;
}
v4l2_format setFormat() {
  const std::lock_guard lock{mutex};
  return card.asked;
}
int input() {
  const std::lock_guard lock{mutex};
  return card.input;
}
bool isOpen() {
  const std::lock_guard lock{mutex};
  return card.fd >= 0;
}

} // namespace rdmagpu::v4l2test
