#include <backend/registry.hpp>
#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/buffer_state.hpp>
#include <os/fd.hpp>
#include <os/fd_passing.hpp>
#include <os/process.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace rdmagpu {
namespace {

constexpr std::array<char, 8> magic{'r', 'd', 'm', 'a', 'g', 'p', 'u', '\n'};
constexpr std::uint32_t shareVersion = 1;

/// What travels beside the descriptor, between two processes of one machine.
struct Description {
  std::array<char, 8> magic{};
  std::uint32_t version{};
  std::uint32_t api{};
  std::uint64_t slotCount{};
  std::uint64_t frameBytes{};
  std::uint64_t slotStride{};
  std::uint64_t regionBytes{};
};
static_assert(sizeof(Description) == 48);

constexpr const char* attachCall = "RdmaGpuBuffer::attach";

/// Maps what was received. Nothing in the description is trusted: the other process may be of
/// another version, or no rdmagpu program at all.
Result<RdmaGpuBuffer> attachTo(os::Fd fd, const Description& told) {
  if(told.magic != magic || !fd)
    return libraryError(attachCall, LibraryCode::ShareMalformed);
  if(told.version != shareVersion)
    return libraryError(attachCall, LibraryCode::ShareVersion, told.version, shareVersion);
  const auto* backend = told.api <= std::numeric_limits<std::uint8_t>::max()
                            ? backend::find(static_cast<RdmaGpuApi>(told.api))
                            : nullptr;
  if(!backend)
    return libraryError(attachCall, LibraryCode::BackendAbsent);
  const bool counts = told.slotCount <= std::numeric_limits<std::uint32_t>::max();
  const auto layout = core::layOut(attachCall, counts ? static_cast<std::uint32_t>(told.slotCount) : 0,
                                   told.frameBytes, backend::sharedPageBytes());
  if(!layout)
    return layout.error();
  if(layout->stride != told.slotStride)
    return libraryError(attachCall, LibraryCode::ShareMalformed, told.slotStride, layout->stride);
  if(layout->totalBytes() > told.regionBytes)
    return libraryError(attachCall, LibraryCode::ShareMalformed, layout->totalBytes(), told.regionBytes);

  const int number = fd.get();
  auto above = os::aboveStandard(std::move(fd));
  if(!above)
    return above.error();
  auto region = backend->attach(*std::move(above), told.regionBytes);
  if(!region) {
    Error error = region.error();
    if(std::string_view{error.finding} == "bad-share")
      error.fd = number;
    return error;
  }
  auto state = std::make_unique<core::BufferState>();
  state->layout = *layout;
  state->regions.push_back(*std::move(region));
  core::describe(*state, backend->api());
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  state->process = *process;
  return core::BufferAccess::make(std::move(state));
}

/// Takes the number after `key` and the separator behind it off the front of a token.
bool takeNumber(std::string_view& token, std::string_view key, std::uint64_t& value) noexcept {
  if(!token.starts_with(key))
    return false;
  token.remove_prefix(key.size());
  const auto [stop, status] = std::from_chars(token.data(), token.data() + token.size(), value);
  token.remove_prefix(static_cast<std::size_t>(stop - token.data()));
  return status == std::errc{};
}

} // namespace

SharedBuffer core::BufferAccess::share(const BufferState& state, os::Fd fd) noexcept {
  SharedBuffer shared;
  shared.m_api = state.facts.api;
  shared.m_fd = fd.release();
  shared.m_slotCount = state.layout.slotCount;
  shared.m_frameBytes = state.layout.frameBytes;
  shared.m_slotStride = state.layout.stride;
  shared.m_regionBytes = state.facts.committedBytes;
  return shared;
}

SharedBuffer::~SharedBuffer() { os::Fd{std::exchange(m_fd, -1)}.reset(); }

SharedBuffer::SharedBuffer(SharedBuffer&& other) noexcept
    : m_api(other.m_api),
      m_fd(std::exchange(other.m_fd, -1)),
      m_slotCount(other.m_slotCount),
      m_frameBytes(other.m_frameBytes),
      m_slotStride(other.m_slotStride),
      m_regionBytes(other.m_regionBytes) {}

SharedBuffer& SharedBuffer::operator=(SharedBuffer&& other) noexcept {
  std::swap(m_api, other.m_api);
  std::swap(m_fd, other.m_fd);
  std::swap(m_slotCount, other.m_slotCount);
  std::swap(m_frameBytes, other.m_frameBytes);
  std::swap(m_slotStride, other.m_slotStride);
  std::swap(m_regionBytes, other.m_regionBytes);
  return *this;
}

Result<void> SharedBuffer::send(int unixSocket) const {
  if(m_fd < 0)
    return libraryError("SharedBuffer::send", LibraryCode::BufferEmpty);
  const Description description{magic,        shareVersion, static_cast<std::uint32_t>(m_api),
                                m_slotCount,  m_frameBytes, m_slotStride,
                                m_regionBytes};
  return os::sendFd(unixSocket, std::as_bytes(std::span{&description, 1}), m_fd);
}

Result<std::string> SharedBuffer::token() const {
  constexpr const char* call = "SharedBuffer::token";
  if(m_fd < 0)
    return libraryError(call, LibraryCode::BufferEmpty);
  return guarded(call, [&]() -> Result<std::string> {
    std::string text = "rdmagpu:" + std::to_string(shareVersion) + ",fd=" + std::to_string(m_fd) +
                       ",api=" + std::to_string(static_cast<unsigned>(m_api)) +
                       ",slots=" + std::to_string(m_slotCount) + ",frame=" + std::to_string(m_frameBytes) +
                       ",stride=" + std::to_string(m_slotStride) + ",region=" + std::to_string(m_regionBytes);
    if(const auto set = os::setInheritable(m_fd, true); !set)
      return set.error();
    return text;
  });
}

Result<SharedBuffer> RdmaGpuBuffer::share() const {
  constexpr const char* call = "RdmaGpuBuffer::share";
  if(!m_state)
    return libraryError(call, LibraryCode::BufferEmpty);
  if(m_state->regions.size() > 1)
    return libraryError(call, LibraryCode::NotShareable);
  auto fd = m_state->regions.front()->share();
  if(!fd)
    return fd.error();
  return core::BufferAccess::share(*m_state, *std::move(fd));
}

Result<RdmaGpuBuffer> RdmaGpuBuffer::attach(int unixSocket) {
  return guarded(attachCall, [&]() -> Result<RdmaGpuBuffer> {
    Description told;
    auto received = os::receiveFd(unixSocket, std::as_writable_bytes(std::span{&told, 1}));
    if(!received)
      return received.error();
    if(received->bytes == 0) // what a closed socket reads as
      return libraryError(attachCall, LibraryCode::ShareEnded);
    if(received->bytes != sizeof told)
      return libraryError(attachCall, LibraryCode::ShareMalformed, received->bytes, sizeof told);
    return attachTo(std::move(received->fd), told);
  });
}

Result<RdmaGpuBuffer> RdmaGpuBuffer::attach(std::string_view token) {
  return guarded(attachCall, [&]() -> Result<RdmaGpuBuffer> {
    Description told{.magic = magic};
    std::uint64_t version{};
    std::uint64_t fd{};
    std::uint64_t api{};
    const bool whole = takeNumber(token, "rdmagpu:", version) && takeNumber(token, ",fd=", fd) &&
                       takeNumber(token, ",api=", api) && takeNumber(token, ",slots=", told.slotCount) &&
                       takeNumber(token, ",frame=", told.frameBytes) &&
                       takeNumber(token, ",stride=", told.slotStride) &&
                       takeNumber(token, ",region=", told.regionBytes) && token.empty();
    constexpr std::uint64_t mostFd = std::numeric_limits<int>::max();
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if(!whole || fd > mostFd || version > most || api > most)
      return libraryError(attachCall, LibraryCode::ShareMalformed);
    told.version = static_cast<std::uint32_t>(version);
    told.api = static_cast<std::uint32_t>(api);
    os::Fd inherited{static_cast<int>(fd)};
    if(const auto set = os::setInheritable(inherited.get(), false); !set)
      return set.error();
    return attachTo(std::move(inherited), told);
  });
}

} // namespace rdmagpu
