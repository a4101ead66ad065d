#include <contract/cuda_pinned.hpp>
#include <contract/fault.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <support/log_capture.hpp>

#include <cstddef>
#include <optional>

namespace rdmagpu::test {
namespace {

Result<void> copyBothWays(const RdmaGpuBuffer& buffer, const CopyQueueOptions& options,
                          std::span<std::byte> bytes) {
  auto queue = CopyQueue::make(buffer, options);
  if(!queue)
    return queue.error();
  // Three copies at a depth of two, one of which is asked, one waited for, and one left to the destructor.
  const auto up = queue->upload(0, bytes);
  if(!up)
    return up.error();
  static_cast<void>(up->done());
  const auto down = queue->download(1, bytes);
  if(!down)
    return down.error();
  if(const auto waited = down->wait(); !waited)
    return waited;
  const auto last = queue->upload(0, bytes);
  return last ? Result<void>{} : last.error();
}

class CudaCopyFault : public OnCudaStandin {
protected:
  void everyCallFails(CudaMemory memory, const CopyQueueOptions& options) {
    everyCallFailsOnce(*this, [&] {
      const LogCapture log;
      std::vector<std::byte> pageable(5000);
      Outcome outcome;
      {
        const auto buffer = RdmaGpuBuffer::make(cudaConfig(memory));
        outcome.result = buffer ? copyBothWays(*buffer, options, pageable) : Result<void>{buffer.error()};
        if(buffer)
          outcome.survived = survivedBy(buffer->facts());
      }
      const auto logged = log.errors();
      outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
      return outcome;
    });
  }

public:
  // What everyCallFailsOnce() asks of a stand-in; what the test itself holds does not count.
  void failCall(int n) { standin->failCall(n); }
  std::string failedCall() const { return standin->failedCall(); }
  std::string ledger() const { return standin->ledger() == m_own ? "" : standin->ledger(); }

protected:
  std::string m_own;
};

TEST_F(CudaCopyFault, EveryCallFailsOnce) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc})
    everyCallFails(memory, {.depth = 2});
}

TEST_F(CudaCopyFault, EveryCallFailsOnceOnACallersStream) {
  const PrimaryOf own{0};
  std::optional<CallersStream> stream;
  {
    const CurrentContext current{own.get()};
    stream.emplace();
  }
  m_own = standin->ledger();
  everyCallFails(CudaMemory::Vmm, {.depth = 2, .stream = CudaStream{stream->get()}});
  const CurrentContext current{own.get()};
  stream.reset();
}

} // namespace
} // namespace rdmagpu::test
