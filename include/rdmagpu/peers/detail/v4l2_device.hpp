#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace rdmagpu::peers {

/// How a V4L2 device is told where a slot is.
enum class V4l2Memory : std::uint8_t {
  DmaBuf,      ///< V4L2_MEMORY_DMABUF: any slot that can be exported.
  UserPointer, ///< V4L2_MEMORY_USERPTR: host memory only.
};
/// "dma-buf", "user-pointer".
constexpr const char* name(V4l2Memory memory) noexcept {
  return memory == V4l2Memory::DmaBuf ? "dma-buf" : "user-pointer";
}

/// The system calls by which a device is used; each as POSIX has it, errno included.
struct V4l2Calls {
  int (*open)(const char* path, int flags) = [](const char* path, int flags) { return ::open(path, flags); };
  int (*close)(int fd) = [](int fd) { return ::close(fd); };
  int (*ioctl)(int fd, unsigned long request, void* argument) =
      [](int fd, unsigned long request, void* argument) { return ::ioctl(fd, request, argument); };
  int (*poll)(pollfd* fds, nfds_t count, int timeoutMs) = [](pollfd* fds, nfds_t count, int timeoutMs) {
    return ::poll(fds, count, timeoutMs);
  };
};

struct V4l2Config {
  SlotFlow flow{SlotFlow::Capture};
  std::uint32_t pixelFormat{}; ///< V4L2_PIX_FMT_...; 0: the one that is set.
  std::uint32_t width{};       ///< In pixels; 0: what is set.
  std::uint32_t height{};
  std::uint32_t bytesPerLine{};         ///< At least; 0: what the driver takes for the width.
  std::optional<std::uint32_t> input{}; ///< VIDIOC_S_INPUT or VIDIOC_S_OUTPUT; empty: the one that is set.
  v4l2_fract timePerFrame{};            ///< VIDIOC_S_PARM; 0: what is set.
  std::optional<V4l2Memory> memory{};   ///< Empty: dma-bufs where slots and driver have them, else pointers.
  std::chrono::milliseconds timeout{1000}; ///< So long without a frame is a timeout.
  std::uint32_t primeFrames{2}; ///< Playout: so many frames are queued before the stream is started, or as
                                ///< many as there are slots.
  V4l2Calls calls{};
};

/// What the driver has made of what was asked for.
struct V4l2Format {
  std::uint32_t pixelFormat{}; ///< V4L2_PIX_FMT_...
  std::uint32_t width{};
  std::uint32_t height{};
  std::uint32_t bytesPerLine{};
  std::uint32_t frameBytes{}; ///< sizeimage.
  std::uint32_t field{};      ///< V4L2_FIELD_...
  v4l2_fract timePerFrame{};  ///< 0 where the driver does not say.
};

namespace detail {

/// Where one slot is.
struct V4l2Place {
  int dmaBuf = -1;
  void* pointer{};
  std::size_t bytes{};
};

/// A buffer that came back.
struct V4l2Done {
  std::uint32_t index{};
  std::uint32_t sequence{};
  std::size_t bytes{};
  std::size_t offset{};
  std::optional<std::int64_t> timestamp{}; ///< Of std::chrono::steady_clock, in nanoseconds.
  bool faulty{};
};

/// An open device and its one queue, of whichever buffer type it has. For one thread at a time.
class V4l2Device {
public:
  V4l2Device(const V4l2Config& config) : m_config(config) {}
  V4l2Device(V4l2Device&&) = delete;
  ~V4l2Device() { close(); }

  Result<void> open(const char* path) noexcept {
    m_fd = m_config.calls.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if(m_fd < 0)
      return systemError("open /dev/video*", errno);
    if(const auto found = findQueue(); !found)
      return found;
    return negotiate();
  }
  /// Ends whatever the device still does: the kernel lets go of all memory.
  void close() noexcept {
    if(isOpen())
      m_config.calls.close(std::exchange(m_fd, -1));
  }

  bool isOpen() const noexcept { return m_fd >= 0; }
  int fd() const noexcept { return m_fd; }
  bool playsOut() const noexcept { return m_config.flow == SlotFlow::Playout; }
  const V4l2Format& format() const noexcept { return m_format; }
  const V4l2Calls& calls() const noexcept { return m_config.calls; }

  /// How many there are then; 0 gives back what there was.
  Result<std::uint32_t> requestBuffers(V4l2Memory memory, std::uint32_t count) noexcept {
    m_memory = memory;
    v4l2_requestbuffers request{};
    request.count = count;
    request.type = m_type;
    request.memory = memoryType();
    if(const Error error = call(VIDIOC_REQBUFS, &request, nameOf("VIDIOC_REQBUFS")); error.kind != Errc::None)
      return error;
    return request.count;
  }

  /// Has the driver look at the place. False: it has no such call.
  Result<bool> prepare(std::uint32_t index, const V4l2Place& place) noexcept {
    Buffer b(*this, index, place, m_format.frameBytes);
    const Error error = call(VIDIOC_PREPARE_BUF, &b.buffer, nameOf("VIDIOC_PREPARE_BUF"));
    if(error.kind != Errc::None && error.code != ENOTTY)
      return error;
    return error.kind == Errc::None;
  }
  Error queue(std::uint32_t index, const V4l2Place& place, std::size_t bytes) noexcept {
    Buffer b(*this, index, place, bytes);
    return call(VIDIOC_QBUF, &b.buffer, nameOf("VIDIOC_QBUF"));
  }
  /// Empty: none has come back; `ended` if none will.
  Error dequeue(std::optional<V4l2Done>& done, bool& ended) noexcept {
    Buffer b(*this, 0, {}, 0);
    const Error error = call(VIDIOC_DQBUF, &b.buffer, "VIDIOC_DQBUF");
    done.reset();
    ended = error.kind != Errc::None && error.code == EPIPE;
    if(ended || (error.kind != Errc::None && error.code == EAGAIN))
      return {};
    if(error.kind == Errc::None)
      done = b.done();
    return error;
  }

  Error streamOn() noexcept {
    int type = static_cast<int>(m_type);
    return call(VIDIOC_STREAMON, &type, "VIDIOC_STREAMON");
  }
  /// Takes every buffer back from the driver, on a queue that does not stream, too.
  Error streamOff() noexcept {
    int type = static_cast<int>(m_type);
    return call(VIDIOC_STREAMOFF, &type, "VIDIOC_STREAMOFF");
  }

private:
  struct Buffer {
    Buffer(const V4l2Device& device, std::uint32_t index, const V4l2Place& place, std::size_t bytes) noexcept
        : many(device.m_many) {
      buffer.index = index;
      buffer.type = device.m_type;
      buffer.memory = device.memoryType();
      buffer.field = device.playsOut() ? device.m_format.field : 0U;
      const auto length = static_cast<std::uint32_t>(place.bytes);
      const auto used = static_cast<std::uint32_t>(device.playsOut() ? bytes : 0);
      const bool dmaBuf = device.m_memory == V4l2Memory::DmaBuf;
      if(many) {
        plane.length = length;
        plane.bytesused = used;
        if(dmaBuf)
          plane.m.fd = place.dmaBuf;
        else
          plane.m.userptr = address(place);
        buffer.m.planes = &plane;
        buffer.length = 1;
        return;
      }
      buffer.length = length;
      buffer.bytesused = used;
      if(dmaBuf)
        buffer.m.fd = place.dmaBuf;
      else
        buffer.m.userptr = address(place);
    }
    Buffer(Buffer&&) = delete;

    static unsigned long address(const V4l2Place& place) noexcept {
      return reinterpret_cast<unsigned long>(place.pointer); // as V4L2 wants it
    }
    V4l2Done done() const noexcept {
      V4l2Done done{.index = buffer.index,
                    .sequence = buffer.sequence,
                    .bytes = many ? plane.bytesused : buffer.bytesused,
                    .offset = many ? plane.data_offset : 0U,
                    .faulty = (buffer.flags & V4L2_BUF_FLAG_ERROR) != 0};
      if((buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        done.timestamp = std::int64_t{buffer.timestamp.tv_sec} * 1'000'000'000 +
                         std::int64_t{buffer.timestamp.tv_usec} * 1000;
      return done;
    }

    bool many;
    v4l2_plane plane{};
    v4l2_buffer buffer{};
  };

  Error call(unsigned long request, void* argument, const char* name) const noexcept {
    int answer = 0;
    do
      answer = m_config.calls.ioctl(m_fd, request, argument);
    while(answer < 0 && errno == EINTR);
    if(answer >= 0)
      return {};
    Error error = systemError(name, errno);
    if(error.code == ENODEV) // it was there when it was opened
      error.kind = Errc::Lost;
    return error;
  }
  /// Static text for a call that has to do with the kind of memory: its answer has, too.
  const char* nameOf(const char* call) const noexcept {
    constexpr std::pair<const char*, const char*> names[] = {
        {"VIDIOC_REQBUFS (V4L2_MEMORY_DMABUF)", "VIDIOC_REQBUFS (V4L2_MEMORY_USERPTR)"},
        {"VIDIOC_PREPARE_BUF (V4L2_MEMORY_DMABUF)", "VIDIOC_PREPARE_BUF (V4L2_MEMORY_USERPTR)"},
        {"VIDIOC_QBUF (V4L2_MEMORY_DMABUF)", "VIDIOC_QBUF (V4L2_MEMORY_USERPTR)"}};
    const auto& both = names[call[7] == 'R' ? 0 : call[7] == 'P' ? 1 : 2];
    return m_memory == V4l2Memory::DmaBuf ? both.first : both.second;
  }
  std::uint32_t memoryType() const noexcept {
    return m_memory == V4l2Memory::DmaBuf ? V4L2_MEMORY_DMABUF : V4L2_MEMORY_USERPTR;
  }

  Result<void> findQueue() noexcept {
    v4l2_capability capability{};
    if(const Error error = call(VIDIOC_QUERYCAP, &capability, "VIDIOC_QUERYCAP"); error.kind != Errc::None)
      return error;
    const std::uint32_t has = (capability.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? capability.device_caps
                                                                                    : capability.capabilities;
    const std::uint32_t one = playsOut() ? V4L2_CAP_VIDEO_OUTPUT : V4L2_CAP_VIDEO_CAPTURE;
    const std::uint32_t many = playsOut() ? V4L2_CAP_VIDEO_OUTPUT_MPLANE : V4L2_CAP_VIDEO_CAPTURE_MPLANE;
    if((has & V4L2_CAP_STREAMING) == 0 || (has & (one | many)) == 0)
      return refusal("VIDIOC_QUERYCAP", Refusal::WrongFlow);
    m_many = (has & one) == 0;
    if(playsOut())
      m_type = m_many ? V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE : V4L2_BUF_TYPE_VIDEO_OUTPUT;
    else
      m_type = m_many ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
    return {};
  }

  Result<void> negotiate() noexcept {
    if(m_config.input) {
      int number = static_cast<int>(*m_config.input);
      const Error error = playsOut() ? call(VIDIOC_S_OUTPUT, &number, "VIDIOC_S_OUTPUT")
                                     : call(VIDIOC_S_INPUT, &number, "VIDIOC_S_INPUT");
      if(error.kind != Errc::None)
        return error;
    }
    v4l2_format format{};
    format.type = m_type;
    if(const Error error = call(VIDIOC_G_FMT, &format, "VIDIOC_G_FMT"); error.kind != Errc::None)
      return error;
    take(format);
    const V4l2Config& c = m_config;
    if(c.pixelFormat != 0 || c.width != 0 || c.height != 0 || c.bytesPerLine != 0) {
      ask(format);
      if(const Error error = call(VIDIOC_S_FMT, &format, "VIDIOC_S_FMT"); error.kind != Errc::None)
        return error;
      take(format);
    }
    if(const auto same = asAsked(); !same)
      return same;
    return negotiateRate();
  }

  void ask(v4l2_format& format) const noexcept {
    const auto put = [&c = m_config](auto& pix) {
      pix.pixelformat = c.pixelFormat != 0 ? c.pixelFormat : pix.pixelformat;
      pix.width = c.width != 0 ? c.width : pix.width;
      pix.height = c.height != 0 ? c.height : pix.height;
      if(pix.field == V4L2_FIELD_ANY)
        pix.field = V4L2_FIELD_NONE;
    };
    if(m_many) {
      put(format.fmt.pix_mp);
      format.fmt.pix_mp.num_planes = 1;
      format.fmt.pix_mp.plane_fmt[0].bytesperline = m_config.bytesPerLine;
      format.fmt.pix_mp.plane_fmt[0].sizeimage = 0;
      return;
    }
    put(format.fmt.pix);
    format.fmt.pix.bytesperline = m_config.bytesPerLine;
    format.fmt.pix.sizeimage = 0;
  }

  void take(const v4l2_format& format) noexcept {
    const auto read = [this](const auto& pix) {
      m_format.pixelFormat = pix.pixelformat;
      m_format.width = pix.width;
      m_format.height = pix.height;
      m_format.field = pix.field;
    };
    m_planes = m_many ? format.fmt.pix_mp.num_planes : 1;
    if(m_many) {
      read(format.fmt.pix_mp);
      m_format.bytesPerLine = format.fmt.pix_mp.plane_fmt[0].bytesperline;
      m_format.frameBytes = format.fmt.pix_mp.plane_fmt[0].sizeimage;
    } else {
      read(format.fmt.pix);
      m_format.bytesPerLine = format.fmt.pix.bytesperline;
      m_format.frameBytes = format.fmt.pix.sizeimage;
    }
  }

  /// A driver takes what is nearest for what it does not have.
  Result<void> asAsked() const noexcept {
    constexpr const char* call = "VIDIOC_S_FMT";
    const std::pair<std::uint32_t, std::uint32_t> asked[] = {{m_config.pixelFormat, m_format.pixelFormat},
                                                             {m_config.width, m_format.width},
                                                             {m_config.height, m_format.height}};
    for(const auto& [wanted, got] : asked) {
      if(wanted != 0 && wanted != got)
        return refusal(call, Refusal::WrongFormat, wanted, got);
    }
    if(m_planes != 1)
      return refusal(call, Refusal::ManyPlanes, m_planes, 1);
    return {};
  }

  Result<void> negotiateRate() noexcept {
    v4l2_streamparm parameters{};
    parameters.type = m_type;
    // The two halves of the union have the interval at the same place, but not the same name.
    v4l2_fract& interval =
        playsOut() ? parameters.parm.output.timeperframe : parameters.parm.capture.timeperframe;
    if(m_config.timePerFrame.denominator != 0) {
      interval = m_config.timePerFrame;
      if(const Error error = call(VIDIOC_S_PARM, &parameters, "VIDIOC_S_PARM"); error.kind != Errc::None)
        return error;
    } else if(call(VIDIOC_G_PARM, &parameters, "VIDIOC_G_PARM").kind != Errc::None) {
      interval = {}; // many have none
    }
    m_format.timePerFrame = interval;
    return {};
  }

  const V4l2Config m_config;
  int m_fd = -1;
  bool m_many{}; ///< The multi-planar calls, for one plane.
  std::uint32_t m_planes = 1;
  std::uint32_t m_type{};
  V4l2Memory m_memory{};
  V4l2Format m_format;
};

} // namespace detail
} // namespace rdmagpu::peers
