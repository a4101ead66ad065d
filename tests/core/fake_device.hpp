#pragma once
#include <backend/backend.hpp>
#include <base/library_error.hpp>
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/poison.hpp>

#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rdmagpu::test {

/// A device whose driver places each slot by itself, as Vulkan's and D3D12's RDMA memory is.
class FakeDevice final : public backend::Device {
public:
  class FakeRegion final : public backend::Region {
  public:
    FakeRegion(FakeDevice& device, std::size_t bytes) : m_device(device), m_memory(bytes) {
      ++m_device.alive;
    }
    ~FakeRegion() override { --m_device.alive; }
    FakeRegion(FakeRegion&&) = delete;

    void* address(std::size_t offset) const noexcept override { return m_memory.data() + offset; }
    void* opaque() const noexcept override { return &m_device; }
    Handoff handoff(std::size_t offset) const noexcept override {
      return VulkanRemoteAddress{address(offset)};
    }
    Result<void> upload(std::size_t offset, std::span<const std::byte> from) const override {
      std::copy(from.begin(), from.end(), m_memory.begin() + static_cast<std::ptrdiff_t>(offset));
      return {};
    }
    Result<void> download(std::size_t offset, std::span<std::byte> to) const override {
      std::copy_n(m_memory.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
      return {};
    }
    Result<void> flushPeerWrites() const override {
      ++m_device.flushes;
      if(m_device.flushes == m_device.failFlush)
        return libraryError("flush", LibraryCode::PlatformLacks);
      return {};
    }
    Result<std::uint64_t> checksum(std::size_t offset, std::size_t bytes) const override {
      return rdmagpu::checksum(std::span{m_memory}.subspan(offset, bytes));
    }
    Result<void> poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const override {
      rdmagpu::poison(std::span{m_memory}.subspan(offset, bytes), seed);
      return {};
    }
    Result<void> clear(std::size_t offset, std::size_t bytes) const override {
      std::fill_n(m_memory.begin() + static_cast<std::ptrdiff_t>(offset), bytes, std::byte{});
      return {};
    }
    Result<backend::ExportedFd> exportDmaBuf(std::size_t offset, std::size_t bytes) const override {
      if(!m_device.exportOffset)
        return Region::exportDmaBuf(offset, bytes);
#ifdef _WIN32
      return libraryError("fake", LibraryCode::PlatformLacks);
#else
      os::Fd fd{memfd_create("fake", MFD_CLOEXEC)};
      if(ftruncate(fd.get(), static_cast<off_t>(*m_device.exportOffset + bytes)) != 0)
        return libraryError("ftruncate", LibraryCode::OutOfMemory);
      return backend::ExportedFd{.fd = std::move(fd), .offset = *m_device.exportOffset};
#endif
    }
    void describe(BufferFacts& facts) const override { facts.committedBytes += m_memory.size(); }

  private:
    FakeDevice& m_device;
    mutable std::vector<std::byte> m_memory;
  };

  Result<backend::RegionPtr> allocate(const backend::RegionRequest& request) override {
    if(allocated == refuseFrom)
      return libraryError("allocate", LibraryCode::OutOfMemory, request.bytes);
    ++allocated;
    return backend::RegionPtr{std::make_shared<const FakeRegion>(*this, request.bytes)};
  }
  std::size_t slotGranularity() const noexcept override { return 65536; }
  bool oneRegionPerSlot() const noexcept override { return true; }
  std::optional<backend::Budget> budget(const RdmaGpuBufferConfig&) const override { return {}; }

  std::optional<std::uint64_t>
      exportOffset{}; ///< Where exports start in their descriptor; empty: there are none.
  int alive{};
  int allocated{};
  int refuseFrom = -1;
  int flushes{};
  int failFlush = -1;
};

} // namespace rdmagpu::test
