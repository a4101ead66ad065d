#include <cuda/standin.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rdmagpu::standin::cuda {
namespace {

Work* find(Stream stream) {
  auto& all = state().streams;
  const auto it = all.find(stream);
  return it == all.end() ? nullptr : &it->second;
}

Record* find(Event event) {
  auto& all = state().events;
  const auto it = all.find(event);
  return it == all.end() ? nullptr : &it->second;
}

/// What is told of an event that is not there; in a context that has gone, that it has. With one whose own
/// context was destroyed the driver dies, now and then.
Status absent(const char* call, Event event) {
  if(state().gone.contains(event))
    return misuse(call, "an event of a context that was destroyed", Status::ContextIsDestroyed);
  return checkContext() == Status::ContextIsDestroyed ? Status::ContextIsDestroyed : Status::InvalidHandle;
}

void execute(const Operation& operation) {
  switch(operation.kind) {
  case Operation::Kind::Upload:
    std::memcpy(hostView(operation.device),
                operation.staged.empty() ? operation.host : operation.staged.data(), operation.bytes);
    break;
  case Operation::Kind::Download:
    std::memcpy(operation.host, hostView(operation.device), operation.bytes);
    break;
  case Operation::Kind::Kernel:
    operation.kernel();
    break;
  case Operation::Kind::Record:
    if(Record* record = find(operation.event); record && record->number == operation.number)
      record->pending = false;
    break;
  }
}

/// Executes the stream's work up to that record, or all of it.
void runUpTo(Work& work, std::uint64_t number) {
  while(!work.operations.empty()) {
    const Operation operation = std::move(work.operations.front());
    work.operations.pop_front();
    execute(operation);
    if(operation.kind == Operation::Kind::Record && operation.number == number)
      return;
  }
}

void complete(const Record& record) {
  if(Work* work = find(record.stream))
    runUpTo(*work, record.number);
}

bool isRegistered(const void* host, std::size_t bytes) {
  std::uintptr_t start{};
  const Registered* pinned = registeredOf(number(host), &start);
  return pinned && number(host) + bytes <= start + pinned->bytes;
}

Status checkCopy(Stream stream, DevicePtr address, std::size_t bytes, AccessFlags wanted) {
  if(const Status status = checkStream(stream); status != Status::Success)
    return status;
  return bytes == 0 || isMemory(address, bytes, wanted) ? Status::Success : Status::InvalidValue;
}

} // namespace

Status checkStream(Stream stream) {
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  const Work* work = find(resolve(stream));
  if(!work)
    return Status::InvalidHandle;
  return work->context == current() ? Status::Success : Status::InvalidContext;
}

Stream resolve(Stream stream) {
  thread_local std::map<Context, Stream> ofThisThread;
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if(handle > perThreadStream || !current())
    return stream;
  auto made = reinterpret_cast<Stream>(current()); // any value that is no other stream's
  if(handle == perThreadStream) {
    Stream& own = ofThisThread[current()];
    if(!own)
      own = reinterpret_cast<Stream>(++state().lastHandle << 4U);
    made = own;
  }
  state().streams.try_emplace(made, Work{.context = current(), .isDefault = true, .operations = {}});
  return made;
}

void finishWork(Stream stream) {
  if(Work* work = find(resolve(stream)))
    runUpTo(*work, 0);
}

bool deviceMemoryIsInUse(DevicePtr address, std::size_t bytes) {
  return std::any_of(state().streams.begin(), state().streams.end(), [&](const auto& entry) {
    return std::any_of(entry.second.operations.begin(), entry.second.operations.end(),
                       [&](const Operation& o) { return overlaps(o.device, o.bytes, address, bytes); });
  });
}

bool hostMemoryIsInUse(std::uintptr_t address, std::size_t bytes) {
  return std::any_of(state().streams.begin(), state().streams.end(), [&](const auto& entry) {
    return std::any_of(entry.second.operations.begin(), entry.second.operations.end(),
                       [&](const Operation& o) {
                         return o.staged.empty() && overlaps(number(o.host), o.bytes, address, bytes);
                       });
  });
}

void finishWorkOf(Context context) {
  for(auto& [stream, work] : state().streams) {
    if(work.context == context)
      runUpTo(work, 0);
  }
  state().unfinished = 0;
}

void rememberGone(Context context) {
  for(const auto& [stream, work] : state().streams) {
    if(work.context == context && !work.isDefault)
      state().gone.insert(stream);
  }
  for(const auto& [event, record] : state().events) {
    if(record.context == context)
      state().gone.insert(event);
  }
}

void endWorkOf(Context context) {
  auto& streams = state().streams;
  for(auto it = streams.begin(); it != streams.end();) {
    if(it->second.context == context)
      runUpTo(it->second, 0);
    it = it->second.context == context ? streams.erase(it) : std::next(it);
  }
  std::erase_if(state().events, [&](const auto& entry) { return entry.second.context == context; });
  forgetRegistrationsOf(context);
}

} // namespace rdmagpu::standin::cuda

using namespace rdmagpu::standin::cuda;
using rdmagpu::driver::cuda::EventFlags;
using rdmagpu::driver::cuda::StreamFlags;

RDMAGPU_STANDIN_API Status cuStreamCreate(Stream* stream, StreamFlags flags) {
  const Call call{"cuStreamCreate"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(flags != StreamFlags::NonBlocking && flags != StreamFlags{})
    return Status::InvalidValue;
  *stream = reinterpret_cast<Stream>(++state().lastHandle << 4U); // never dereferenced
  state().streams.emplace(*stream, Work{.context = current(), .operations = {}});
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuStreamDestroy_v2(Stream stream) {
  const Call call{"cuStreamDestroy_v2"};
  if(call.refused())
    return call.refusal();
  if(!find(stream))
    return misuse("cuStreamDestroy_v2", "a stream that is not, or no longer, there");
  finishWork(stream); // which the driver does later
  state().streams.erase(stream);
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuStreamGetCtx(Stream stream, Context* context) {
  const Call call{"cuStreamGetCtx"};
  if(call.refused())
    return call.refusal();
  const Work* work = find(resolve(stream));
  if(!work && state().gone.contains(stream))
    return misuse("cuStreamGetCtx", "a stream of a context that was destroyed", Status::ContextIsDestroyed);
  if(!work)
    return Status::InvalidHandle;
  *context = work->context;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuStreamSynchronize(Stream stream) {
  const Call call{"cuStreamSynchronize"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(!find(resolve(stream)))
    return Status::InvalidHandle;
  finishWork(stream);
  Work& work = state().streams.at(resolve(stream));
  (work.isDefault ? state().unfinished : work.unfinished) = 0;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuEventCreate(Event* event, EventFlags flags) {
  const Call call{"cuEventCreate"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(flags != EventFlags::DisableTiming && flags != EventFlags{})
    return Status::InvalidValue;
  *event = reinterpret_cast<Event>(++state().lastHandle << 4U); // never dereferenced
  state().events.emplace(*event, Record{.context = current()});
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuEventDestroy_v2(Event event) {
  const Call call{"cuEventDestroy_v2"};
  if(call.refused())
    return call.refusal();
  if(state().events.erase(event) == 0)
    return misuse("cuEventDestroy_v2", "an event that is not, or no longer, there");
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuEventRecord(Event event, Stream stream) {
  const Call call{"cuEventRecord"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  Record* record = find(event);
  if(!record && state().gone.contains(event))
    return absent("cuEventRecord", event);
  Work* work = find(resolve(stream));
  if(!record || !work || record->context != work->context)
    return Status::InvalidHandle;
  record->stream = resolve(stream);
  record->number = ++state().lastHandle;
  record->pending = true;
  record->questionsLeft = state().questionsUntilDone;
  work->operations.push_back({.kind = Operation::Kind::Record, .event = event, .number = record->number});
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuEventQuery(Event event) {
  const Call call{"cuEventQuery"};
  if(call.refused())
    return call.refusal();
  Record* record = find(event);
  if(!record)
    return absent("cuEventQuery", event);
  if(record->pending && record->questionsLeft-- > 0)
    return Status::NotReady;
  complete(*record);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuEventSynchronize(Event event) {
  const Call call{"cuEventSynchronize"};
  if(call.refused())
    return call.refusal();
  const Record* record = find(event);
  if(!record)
    return absent("cuEventSynchronize", event);
  if(record->pending)
    complete(*record);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemcpyHtoDAsync_v2(DevicePtr to, const void* from, std::size_t bytes,
                                                Stream stream) {
  const Call call{"cuMemcpyHtoDAsync_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(stream, to, bytes, AccessFlags::ReadWrite); status != Status::Success)
    return status;
  Operation operation{.kind = Operation::Kind::Upload,
                      .device = to,
                      .host = const_cast<void*>(from), // only read
                      .bytes = bytes};
  if(!isRegistered(from, bytes)) { // pageable memory is staged before the call returns
    const auto* const source = static_cast<const std::byte*>(from);
    operation.staged.assign(source, source + bytes);
  }
  find(resolve(stream))->operations.push_back(std::move(operation));
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemcpyDtoHAsync_v2(void* to, DevicePtr from, std::size_t bytes, Stream stream) {
  const Call call{"cuMemcpyDtoHAsync_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(stream, from, bytes, readOnly); status != Status::Success)
    return status;
  find(resolve(stream))
      ->operations.push_back({.kind = Operation::Kind::Download, .device = from, .host = to, .bytes = bytes});
  if(!isRegistered(to, bytes)) // to pageable memory the call copies before it returns
    finishWork(stream);
  return Status::Success;
}

/// Whether kernels that are started from now on run when their stream is waited for, and not before, as on a
/// GPU that does something else.
RDMAGPU_STANDIN_API void rdmagpu_standin_cuda_kernels_wait(int wait) {
  const std::lock_guard lock{state().mutex};
  state().kernelsWait = wait != 0;
}

/// How often an event that is recorded from now on is not ready when it is asked, before it is. Work is
/// executed when an event behind it is found ready or waited for, and not before.
RDMAGPU_STANDIN_API void rdmagpu_standin_cuda_questions(int n) {
  const std::lock_guard lock{state().mutex};
  state().questionsUntilDone = n;
}
