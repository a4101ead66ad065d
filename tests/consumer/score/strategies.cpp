// ossia score's way to use the allocator: a capture strategy allocates by positional initialisers, with its
// own table of CUDA's functions and a primary context that it keeps; the card's back end takes gpuVA slot by
// slot; the capture thread copies out of it. Where the strategy cannot start, one on host slots takes its
// place.
#include <rdmagpu/compat/score_interop.hpp>

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace interop = score::gfx::interop;

namespace {

constexpr std::size_t slotCount = 3;
constexpr std::size_t frameBytes = std::size_t{1280} * 720 * 4;

static_assert(!std::is_copy_constructible_v<interop::RdmaGpuBuffer>);
static_assert(std::is_nothrow_move_constructible_v<interop::RdmaGpuBuffer>);
static_assert(static_cast<int>(interop::RdmaGpuApi::Cuda) == 1 &&
              static_cast<int>(interop::RdmaGpuApi::HostFallback) == 4);

/// What score's own table has of the driver.
struct CudaFunctions {
  using Context = void*;
  int (*init)(unsigned){};
  int (*retain)(Context*, int){};
  int (*release)(int){};
  int (*setCurrent)(Context){};
  int (*toDevice)(std::uint64_t, const void*, std::size_t){};
  int (*toHost)(void*, std::uint64_t, std::size_t){};

  bool load() {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const auto find = [driver](auto& function, const char* name) {
      function = driver ? reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(driver, name))
                        : nullptr;
      return function != nullptr;
    };
    return find(init, "cuInit") && find(retain, "cuDevicePrimaryCtxRetain") &&
           find(release, "cuDevicePrimaryCtxRelease_v2") && find(setCurrent, "cuCtxSetCurrent") &&
           find(toDevice, "cuMemcpyHtoD_v2") && find(toHost, "cuMemcpyDtoH_v2") && init(0) == 0;
  }
};

struct Strategy {
  virtual ~Strategy() = default;
  virtual const char* name() const = 0;
  virtual bool init() = 0;
  virtual void release() = 0;
  virtual bool cardWrites(std::size_t slot, const std::vector<unsigned char>& frame) = 0;
  virtual bool ingest(std::size_t slot, std::vector<unsigned char>& texture) = 0;
  void* slotBuffer(std::size_t i) const { return m_rdma.slot(i).gpuVA; }

protected:
  interop::RdmaGpuBuffer m_rdma;
};

struct GpuDirect final : Strategy {
  const char* name() const override { return "gpu"; }

  bool init() override {
    if(!m_cuda.load() || m_cuda.retain(&m_context, 0) != 0)
      return false;
    if(m_cuda.setCurrent(m_context) != 0 ||
       !m_rdma.create(
           {interop::RdmaGpuApi::Cuda, std::uint32_t(slotCount), frameBytes, &m_cuda, /*cudaDevice=*/0})) {
      release();
      return false;
    }
    return true;
  }

  void release() override {
    m_rdma.destroy(); // while the primary context is there
    if(m_context)
      m_cuda.release(0);
    m_context = nullptr;
  }

  bool cardWrites(std::size_t slot, const std::vector<unsigned char>& frame) override {
    return current() && m_cuda.toDevice(address(slot), frame.data(), frame.size()) == 0;
  }

  bool ingest(std::size_t slot, std::vector<unsigned char>& texture) override {
    return current() && m_cuda.toHost(texture.data(), address(slot), texture.size()) == 0;
  }

private:
  bool current() const { return m_cuda.setCurrent(m_context) == 0; }
  std::uint64_t address(std::size_t slot) const {
    return reinterpret_cast<std::uint64_t>(m_rdma.slot(slot).gpuVA);
  }

  CudaFunctions m_cuda;
  CudaFunctions::Context m_context{};
};

struct HostSlots final : Strategy {
  const char* name() const override { return "host"; }
  bool init() override {
    return m_rdma.create({interop::RdmaGpuApi::HostFallback, std::uint32_t(slotCount), frameBytes});
  }
  void release() override { m_rdma.destroy(); }
  bool cardWrites(std::size_t slot, const std::vector<unsigned char>& frame) override {
    std::memcpy(slotBuffer(slot), frame.data(), frame.size());
    return true;
  }
  bool ingest(std::size_t slot, std::vector<unsigned char>& texture) override {
    std::memcpy(texture.data(), slotBuffer(slot), texture.size());
    return true;
  }
};

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

bool captures(Strategy& strategy) {
  std::array<void*, slotCount> registered{};
  for(std::size_t i = 0; i < slotCount; ++i) {
    registered[i] = strategy.slotBuffer(i);
    if(!registered[i] || reinterpret_cast<std::uintptr_t>(registered[i]) % 65536 != 0)
      return false;
  }
  if(strategy.slotBuffer(slotCount))
    return false;
  bool good = true;
  std::thread capture{[&] {
    std::vector<unsigned char> frame(frameBytes);
    std::vector<unsigned char> texture(frameBytes);
    for(std::size_t n = 0; n < 9 && good; ++n) {
      std::memset(frame.data(), static_cast<int>(n + 1), frame.size());
      good = strategy.cardWrites(n % slotCount, frame) && strategy.ingest(n % slotCount, texture) &&
             texture == frame;
    }
  }};
  capture.join();
  return good;
}

} // namespace

int main(int count, char** arguments) {
  const char* const expected = count > 1 ? arguments[1] : "host";
  std::unique_ptr<Strategy> strategy = std::make_unique<GpuDirect>();
  if(!strategy->init()) {
    strategy = std::make_unique<HostSlots>();
    if(!strategy->init())
      return fail("no strategy starts");
  }
  if(std::strcmp(strategy->name(), expected) != 0)
    return fail(strategy->name());
  if(!captures(*strategy))
    return fail("a frame is not what the card wrote");
  // score releases a strategy on a change of format and starts it again.
  strategy->release();
  strategy->release();
  if(strategy->slotBuffer(0) || !strategy->init() || !captures(*strategy))
    return fail("it does not start again");
  strategy->release();
}
