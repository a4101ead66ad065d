#pragma once
#include <rdmagpu/peers/v4l2.hpp>

#include <fcntl.h>
#include <linux/v4l2-dv-timings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

/// The kernel's virtual video driver: https://docs.kernel.org/admin-guide/media/vivid.html
namespace rdmagpu::v4l2test {

/// Its inputs and outputs, as the driver has them without parameters.
constexpr std::uint32_t webcam = 0;
constexpr std::uint32_t hdmiInput = 3;
constexpr std::uint32_t hdmiOutput = 1;

/// A node of vivid's, opened beside the peer's.
class Vivid {
public:
  explicit Vivid(const std::string& path) : m_path(path), m_fd(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
  ~Vivid() { close(); }
  Vivid(Vivid&& other) noexcept : m_path(other.m_path), m_fd(std::exchange(other.m_fd, -1)) {}
  void close() {
    if(m_fd >= 0)
      ::close(std::exchange(m_fd, -1));
  }

  const char* path() const { return m_path.c_str(); }
  bool call(unsigned long request, void* argument) const { return ::ioctl(m_fd, request, argument) == 0; }

  /// Of vivid's nodes the first one that can do all that.
  static std::optional<Vivid> find(std::uint32_t capabilities) {
    for(int i = 0; i < 16; ++i) {
      Vivid node{"/dev/video" + std::to_string(i)};
      v4l2_capability has{};
      if(!node.call(VIDIOC_QUERYCAP, &has) ||
         reinterpret_cast<const char*>(has.driver) != std::string_view{"vivid"})
        continue;
      if((has.device_caps & capabilities) == capabilities)
        return node;
    }
    return {};
  }

  /// By its name, or the end of it.
  std::optional<v4l2_query_ext_ctrl> control(std::string_view name) const {
    v4l2_query_ext_ctrl found{};
    found.id = V4L2_CTRL_FLAG_NEXT_CTRL;
    for(; call(VIDIOC_QUERY_EXT_CTRL, &found); found.id |= V4L2_CTRL_FLAG_NEXT_CTRL) {
      if(std::string_view{found.name}.ends_with(name))
        return found;
    }
    return {};
  }
  bool set(std::string_view name, int value) const {
    const auto known = control(name);
    v4l2_control c{.id = known ? known->id : 0, .value = value};
    return known && call(VIDIOC_S_CTRL, &c);
  }
  /// One of a menu's entries, by the beginning of its name.
  bool choose(const v4l2_query_ext_ctrl& menu, std::string_view entry) const {
    for(auto i = static_cast<std::uint32_t>(menu.minimum); i <= static_cast<std::uint32_t>(menu.maximum);
        ++i) {
      v4l2_querymenu item{};
      item.id = menu.id;
      item.index = i;
      v4l2_control c{.id = menu.id, .value = static_cast<int>(i)};
      if(call(VIDIOC_QUERYMENU, &item) &&
         std::string_view{reinterpret_cast<const char*>(item.name)}.starts_with(entry))
        return call(VIDIOC_S_CTRL, &c);
    }
    return false;
  }

private:
  std::string m_path;
  int m_fd;
};

} // namespace rdmagpu::v4l2test
