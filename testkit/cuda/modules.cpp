#include <cuda/standin.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// Modules and kernels. No PTX is interpreted: of a module it is checked that it is PTX text and has the
/// entry that is asked for, and in place of rdmagpu's own kernels, which are known by name, C++ of the same
/// meaning runs. That the PTX itself is right only a GPU can prove.
namespace rdmagpu::standin::cuda {
namespace {

constexpr std::size_t longestText = 1U << 20;
constexpr unsigned mostThreads = 1024; ///< Of a block, in all and in x and y.
constexpr unsigned mostThreadsZ = 64;
constexpr unsigned mostBlocksX = 0x7FFFFFFF;
constexpr unsigned mostBlocksYZ = 0xFFFF;
constexpr unsigned mostSharedBytes = 48U << 10;

struct Dimensions {
  unsigned x, y, z;
};

bool isOfAName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

/// Without comments.
std::string strip(std::string_view text) {
  std::string left;
  while(!text.empty()) {
    const bool line = text.starts_with("//");
    if(!line && !text.starts_with("/*")) {
      left += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = line ? text.find('\n') : text.find("*/");
    text.remove_prefix(std::min(text.size(), end == std::string_view::npos ? end : end + (line ? 0 : 2)));
  }
  return left;
}

bool isBalanced(std::string_view text, char open, char close) {
  int depth = 0;
  for(const char c : text) {
    depth += (c == open ? 1 : 0) - (c == close ? 1 : 0);
    if(depth < 0)
      return false;
  }
  return depth == 0;
}

/// What the driver says of a text that is to be a module.
Status check(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if(begin == std::string_view::npos || !text.substr(begin).starts_with(".version "))
    return Status::InvalidImage;
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80 && (std::isprint(byte) != 0 || std::isspace(byte) != 0);
  });
  const bool good = printable && text.find(".target sm_") != std::string_view::npos &&
                    text.find(".address_size 64") != std::string_view::npos && isBalanced(text, '{', '}') &&
                    isBalanced(text, '(', ')');
  return good ? Status::Success : Status::InvalidPtx;
}

bool hasEntry(std::string_view text, std::string_view name) {
  constexpr std::string_view keyword = ".entry ";
  for(std::size_t at = text.find(keyword); at != std::string_view::npos; at = text.find(keyword, at + 1)) {
    const std::string_view rest = text.substr(at + keyword.size());
    if(rest.starts_with(name) && (rest.size() == name.size() || !isOfAName(rest[name.size()])))
      return true;
  }
  return false;
}

/// Whether a kernel that runs in the current context can do that there.
bool reaches(DevicePtr address, std::size_t bytes, AccessFlags wanted) {
  if(bytes == 0)
    return true;
  const Plain* plain = plainOf(address);
  return isMemory(address, bytes, wanted) && (!plain || !plain->owner || plain->owner == current());
}

/// As rdmagpu/checksum.hpp tells.
constexpr std::uint64_t step = 0x9e3779b97f4a7c15;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// What a kernel is started with.
struct Start {
  std::array<std::uint64_t, 14> arguments{};
  std::uint64_t threads{}; ///< Of all blocks of a row.
  unsigned rows{};
};

bool runChecksum(const Start& start) {
  const std::uint64_t from = start.arguments[0], bytes = start.arguments[1], result = start.arguments[2];
  if(!reaches(from, bytes, readOnly) || !reaches(result, sizeof(std::uint64_t), AccessFlags::ReadWrite) ||
     result % sizeof(std::uint64_t) != 0)
    return false;
  std::uint64_t sum{};
  std::memcpy(&sum, hostView(result), sizeof sum);
  for(std::uint64_t i = 0; i * sizeof sum < bytes; ++i) {
    std::uint64_t word{};
    std::memcpy(&word, hostView(from + i * sizeof word), std::min(sizeof word, bytes - i * sizeof word));
    sum += mix(word ^ (i + 1) * step);
  }
  std::memcpy(hostView(result), &sum, sizeof sum);
  return true;
}

bool runPoison(const Start& start) {
  const std::uint64_t to = start.arguments[0], bytes = start.arguments[1], key = start.arguments[2];
  if(!reaches(to, bytes, AccessFlags::ReadWrite) || to % 16 != 0 || bytes % 16 != 0)
    return false;
  for(std::uint64_t i = 0; i * sizeof(std::uint64_t) < bytes; ++i) {
    const std::uint64_t word = mix(key + i * step);
    std::memcpy(hostView(to + i * sizeof word), &word, sizeof word);
  }
  return true;
}

/// One of rdmagpu_sample's table.
struct Place {
  std::uint64_t last, where;
};

/// What one thread does. Answers whether the place has changed.
bool samplePlace(DevicePtr address, std::size_t width, Place& place, const std::uint64_t* canary) {
  std::uint64_t seen{};
  std::memcpy(&seen, hostView(address), width);
  const bool changed = seen != place.last;
  if(canary) {
    std::memcpy(hostView(address), canary, width);
    seen = 0;
    std::memcpy(&seen, canary, width);
  }
  place.last = seen;
  return changed;
}

constexpr unsigned sampleThreads = 64;

/// One of rdmagpu_sample's, and what one row of its blocks does.
struct Job {
  std::uint64_t slot, table, places, key, lay, answer, number;
};

bool runJob(const Job& job, std::uint64_t threads) {
  const auto [slot, table, places, key, lay, answer, number] = job;
  const std::uint64_t answering = (places + sampleThreads - 1) / sampleThreads * sampleThreads;
  if(answering == 0)
    return true;
  const Registered* const pinned = registeredOf(answer);
  const bool answers = pinned && registeredOf(answer + answering / 4 - 1) == pinned && answer % 8 == 0;
  if(!answers || table % sizeof(Place) != 0 || threads < places ||
     !reaches(table, places * sizeof(Place), AccessFlags::ReadWrite))
    return false;
  auto* const cells = static_cast<Place*>(hostView(table));
  for(std::uint64_t thread = 0; thread < answering; thread += 32) {
    std::uint32_t bits{};
    for(std::uint64_t i = thread; i < thread + 32 && i < places; ++i) {
      Place& place = cells[i];
      const DevicePtr address = slot + (place.where >> 4U);
      const std::size_t width = place.where & 15U;
      if(width == 0 || width > 8 || !reaches(address, width, lay ? AccessFlags::ReadWrite : readOnly))
        return false;
      const std::uint64_t canary = mix(key + i * step);
      if(samplePlace(address, width, place, lay ? &canary : nullptr))
        bits |= std::uint32_t{1} << (i - thread);
    }
    // Somebody may be looking at it.
    std::atomic_ref{*static_cast<std::uint64_t*>(hostView(answer + thread / 4))}.store(
        number << 32U | bits, std::memory_order_release);
  }
  return true;
}

bool runSample(const Start& start) {
  std::array<Job, 2> jobs{};
  static_assert(sizeof jobs == sizeof start.arguments);
  std::memcpy(jobs.data(), start.arguments.data(), sizeof jobs);
  return std::all_of(jobs.begin(), jobs.begin() + start.rows,
                     [&](const Job& job) { return runJob(job, start.threads); });
}

/// Kernels, and of what size their parameters are. They answer whether they could run.
struct Kernel {
  std::string_view name;
  unsigned threads; ///< .reqntid
  unsigned mostRows;
  std::size_t parameters;
  std::size_t words; ///< Of 64 bits, in each parameter.
  bool (*run)(const Start&);
};

constexpr std::array kernels{
    Kernel{"rdmagpu_checksum", 256, 1, 3, 1, runChecksum},
    Kernel{"rdmagpu_poison", 256, 1, 3, 1, runPoison},
    Kernel{"rdmagpu_sample", sampleThreads, 2, 1, 14, runSample},
};

bool areGood(Dimensions grid, Dimensions block) {
  const bool none = grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
  return !none && grid.x <= mostBlocksX && grid.y <= mostBlocksYZ && grid.z <= mostBlocksYZ &&
         block.x <= mostThreads && block.y <= mostThreads && block.z <= mostThreadsZ &&
         std::uint64_t{block.x} * block.y * block.z <= mostThreads;
}

Status reach(const Kernel& kernel, const Start& start) {
  if(kernel.run(start))
    return Status::Success;
  return misuse("cuLaunchKernel", "a kernel would reach memory that is not there, or is not aligned",
                Status::IllegalAddress);
}

/// Runs it at once, behind what its stream was given before, unless kernels are to wait: nobody can tell from
/// a GPU that is fast.
Status run(const Kernel& kernel, unsigned blocks, unsigned rows, Stream stream, void** parameters) {
  Start start{.threads = std::uint64_t{blocks} * kernel.threads, .rows = rows};
  for(std::size_t i = 0; i < kernel.parameters; ++i)
    std::memcpy(&start.arguments[i * kernel.words], parameters[i], kernel.words * sizeof(std::uint64_t));
  Work& work = state().streams.at(resolve(stream));
  if(state().kernelsWait)
    work.operations.push_back({.kind = Operation::Kind::Kernel,
                               .kernel = [&kernel, start] { static_cast<void>(reach(kernel, start)); }});
  else if(const Status status = reach(kernel, start); status != Status::Success)
    return status;
  ++(work.isDefault ? state().unfinished : work.unfinished);
  return Status::Success;
}

} // namespace

void unloadModulesOf(Context context) {
  std::erase_if(state().functions, [&](const auto& entry) {
    return state().modules.at(entry.second.module).context == context;
  });
  std::erase_if(state().modules, [&](const auto& entry) { return entry.second.context == context; });
}

} // namespace rdmagpu::standin::cuda

using namespace rdmagpu::standin::cuda;

RDMAGPU_STANDIN_API Status cuModuleLoadData(Module* module, const void* image) {
  const Call call{"cuModuleLoadData"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(!module || !image)
    return Status::InvalidValue;
  const auto* const text = static_cast<const char*>(image);
  const std::size_t length = strnlen(text, longestText);
  if(length == longestText)
    return misuse("cuModuleLoadData", "a text without an end", Status::InvalidImage);
  std::string stripped = strip({text, length});
  if(const Status status = check(stripped); status != Status::Success)
    return status;
  *module = reinterpret_cast<Module>(++state().lastHandle << 4U); // never dereferenced
  state().modules.emplace(*module, LoadedModule{current(), std::move(stripped)});
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuModuleUnload(Module module) {
  const Call call{"cuModuleUnload"};
  if(call.refused())
    return call.refusal();
  const auto it = state().modules.find(module);
  if(it == state().modules.end())
    return misuse("cuModuleUnload", "a module that is not, or no longer, there", Status::InvalidHandle);
  // Measured: no context need be current.
  std::erase_if(state().functions, [&](const auto& entry) { return entry.second.module == module; });
  state().modules.erase(it);
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuModuleGetFunction(Function* function, Module module, const char* name) {
  const Call call{"cuModuleGetFunction"};
  if(call.refused())
    return call.refusal();
  if(!function || !name)
    return Status::InvalidValue;
  const auto it = state().modules.find(module);
  if(it == state().modules.end())
    return misuse("cuModuleGetFunction", "a module that is not, or no longer, there", Status::InvalidHandle);
  if(it->second.context != current())
    return Status::InvalidHandle;
  if(!hasEntry(it->second.text, name))
    return Status::NotFound;
  *function = reinterpret_cast<Function>(++state().lastHandle << 4U); // never dereferenced
  state().functions.emplace(*function, LoadedFunction{module, name});
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                          unsigned blockX, unsigned blockY, unsigned blockZ,
                                          unsigned sharedBytes, Stream stream, void** parameters,
                                          void** extra) {
  const Call call{"cuLaunchKernel"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkStream(stream); status != Status::Success)
    return status;
  const auto it = state().functions.find(function);
  if(it == state().functions.end())
    return misuse("cuLaunchKernel", "a function that is not, or no longer, there", Status::InvalidHandle);
  if(state().modules.at(it->second.module).context != current())
    return Status::InvalidHandle;
  const auto* const kernel = std::find_if(kernels.begin(), kernels.end(),
                                          [&](const Kernel& known) { return known.name == it->second.name; });
  if(kernel == kernels.end())
    return misuse("cuLaunchKernel", "a kernel that is none of rdmagpu's: the software device runs no PTX",
                  Status::NotSupported);
  if(!areGood({gridX, gridY, gridZ}, {blockX, blockY, blockZ}) || sharedBytes > mostSharedBytes ||
     blockX != kernel->threads || blockY != 1 || blockZ != 1 || gridY > kernel->mostRows || gridZ != 1 ||
     !parameters || extra)
    return Status::InvalidValue;
  if(!state().kernelsWait)
    finishWork(stream);
  return run(*kernel, gridX, gridY, stream, parameters);
}
