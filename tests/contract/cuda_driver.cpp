#include <contract/cuda_driver.hpp>
#include <os/library.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace rdmagpu::test {
namespace {

os::Library& library() {
  static os::Library opened = [] {
    auto found = os::Library::open("libcuda.so.1");
    if(!found) {
      std::fputs("no libcuda.so.1: start this test with ctest, which puts the stand-in on the path\n",
                 stderr);
      std::exit(1); // NOLINT(concurrency-mt-unsafe): before any other thread
    }
    return *found;
  }();
  return opened;
}

} // namespace

const CudaDriver& CudaDriver::instance() {
  static const CudaDriver driver{library()};
  return driver;
}

CudaDriver::CudaDriver(SymbolSource& source) : functions(source) {
  EXPECT_EQ(functions.load.missing(), nullptr);
  EXPECT_EQ(functions.init(0), api::Status::Success);
}

int CudaDriver::deviceCount() const {
  int count{};
  EXPECT_EQ(functions.deviceGetCount(&count), api::Status::Success);
  return count;
}

api::Context CudaDriver::current() const {
  api::Context context{};
  EXPECT_EQ(functions.ctxGetCurrent(&context), api::Status::Success);
  return context;
}

bool CudaDriver::primaryIsActive(int ordinal) const {
  unsigned flags{};
  int active{};
  EXPECT_EQ(primaryCtxGetState(static_cast<api::Device>(ordinal), &flags, &active), api::Status::Success);
  return active != 0;
}

CudaStandin* CudaStandin::find() {
  static_cast<void>(CudaDriver::instance());
  static CudaStandin standin{library()};
  return standin.isThere() ? &standin : nullptr;
}

namespace {

template <class Function>
void look(SymbolSource& source, const char* name, Function& function) {
  function = reinterpret_cast<Function>(source.find(name)); // what a symbol table gives has no type
}

} // namespace

CudaStandin::CudaStandin(SymbolSource& source) {
  look(source, "rdmagpu_standin_cuda_fail_call", m_failCall);
  look(source, "rdmagpu_standin_cuda_failed_call", m_failedCall);
  look(source, "rdmagpu_standin_cuda_fail_named", m_failNamed);
  look(source, "rdmagpu_standin_cuda_calls", m_calls);
  look(source, "rdmagpu_standin_cuda_ledger", m_ledger);
  look(source, "rdmagpu_standin_cuda_profile", m_profile);
  look(source, "rdmagpu_standin_cuda_unfinished", m_unfinished);
  look(source, "rdmagpu_standin_cuda_flushed_to", m_flushedTo);
  look(source, "rdmagpu_standin_cuda_shut_down_after", m_shutDownAfter);
  look(source, "rdmagpu_standin_cuda_is_shut_down", m_isShutDown);
  look(source, "rdmagpu_standin_cuda_questions", m_questions);
  look(source, "rdmagpu_standin_cuda_kernels_wait", m_kernelsWait);
  look(source, "rdmagpu_standin_cuda_is_inside", m_isInside);
  look(source, "rdmagpu_standin_cuda_exports_more", m_exportsMore);
}

PciAddress somePeer() {
  std::error_code none;
  for(const auto& entry : std::filesystem::directory_iterator{"/sys/bus/pci/devices", none}) {
    if(const auto address = PciAddress::parse(entry.path().filename().string()))
      return *address;
  }
  return {};
}

} // namespace rdmagpu::test
