#include <base/align.hpp>
#include <base/log.hpp>
#include <os/populate.hpp>
#include <os/thread.hpp>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace rdmagpu::os {
namespace {

// A thread costs about as much to start as 1 MiB to populate; a share must be worth it.
constexpr std::size_t leastShare = 8U << 20;

} // namespace

Result<void> populate(std::byte* data, std::size_t bytes) {
  const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(bytes / leastShare, 1, cpus);
  const std::size_t share = bytes / parts / gpuPageBytes * gpuPageBytes;

  std::vector<Result<void>> outcomes(parts);
  std::vector<std::jthread> threads; // joined also when one of these lines throws
  threads.reserve(parts - 1);
  std::size_t begun = 0;
  for(; begun + 1 < parts; ++begun) {
    try {
      threads.emplace_back([=, &outcomes] { outcomes[begun] = populatePart(data + begun * share, share); });
    } catch(const std::system_error& refused) {
      log(LogLevel::Warning, "no thread to populate memory with; going on with those that run",
          threadRefused(refused));
      break;
    }
  }
  outcomes[begun] = populatePart(data + begun * share, bytes - begun * share);
  threads.clear();
  for(const Result<void>& outcome : outcomes) {
    if(!outcome)
      return outcome;
  }
  return {};
}

} // namespace rdmagpu::os
