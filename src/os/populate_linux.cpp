#include <base/align.hpp>
#include <base/log.hpp>
#include <os/calls_linux.hpp>
#include <os/populate.hpp>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace rdmagpu::os {
namespace {

// A thread costs about as much to start as 1 MiB to populate; a share must be worth it.
constexpr std::size_t leastShare = 8U << 20;

/// For kernels before 5.14, which lack MADV_POPULATE_WRITE.
void touch(std::byte* data, std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(getpagesize());
  for(std::size_t at = 0; at < bytes; at += page) {
    volatile std::byte* byte = data + at;
    *byte = *byte;
  }
}

Result<void> populatePart(std::byte* data, std::size_t bytes) noexcept {
  for(;;) {
    if(call::madvise(data, bytes, MADV_POPULATE_WRITE) == 0)
      return {};
    if(errno == EINVAL) {
      touch(data, bytes);
      return {};
    }
    if(errno != EAGAIN && errno != EINTR)
      return call::madvise.refusal(bytes);
  }
}

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
          error("pthread_create", refused.code().value()));
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
