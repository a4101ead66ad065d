#include <program/operations.hpp>

namespace rdmagpu::testkit::operations {
namespace {

constexpr std::size_t deepest = 6;
constexpr int mostRetained = 4;

/// The last release takes with it what was allocated in the context.
void forgetPlain(Model& model) {
  model.stalePlain.insert(model.stalePlain.end(), model.plain.begin(), model.plain.end());
  model.plain.clear();
}

} // namespace

void retain(Session& s) {
  const bool bad = s.random.chance(20);
  const int ordinal = bad ? s.random.of({-1, 64}) : 0;
  if(!bad && s.model.retained >= mostRetained)
    return;
  api::Context context{};
  const char* variant = s.model.contextIsAlive() ? "again" : "first";
  const bool retained = s.succeeds(
      {.function = "cuDevicePrimaryCtxRetain",
       .variant = bad ? "bad-device" : variant,
       .arguments = Arguments{}("device", ordinal),
       .effect = Effect::ChangesState},
      [&](std::string&) { return s.cuda.primaryCtxRetain(&context, static_cast<api::Device>(ordinal)); });
  if(!retained)
    return;
  ++s.model.retained;
  s.model.primary = context;
}

void release(Session& s) {
  Model& model = s.model;
  const bool bad = s.random.chance(15);
  const int ordinal = bad ? s.random.of({-1, 64}) : 0;
  std::string variant = bad ? "bad-device" : "again";
  if(!bad && !model.kept && model.retained == 1)
    variant = model.stack.empty() ? "last" : "last-while-current";
  if(!bad && model.retained == 0)
    variant = "not-retained";
  if(!bad && model.retained == 0 && model.kept) // would take the one that keeps the episode short
    return;
  const bool released =
      s.succeeds({.function = "cuDevicePrimaryCtxRelease_v2",
                  .variant = variant,
                  .arguments = Arguments{}("device", ordinal),
                  .effect = Effect::ChangesState},
                 [&](std::string&) { return s.cuda.primaryCtxRelease(static_cast<api::Device>(ordinal)); });
  if(!released)
    return;
  if(model.retained == 0) {
    s.end();
    return;
  }
  --model.retained;
  if(!model.contextIsAlive())
    forgetPlain(model);
}

void push(Session& s) {
  Model& model = s.model;
  const bool null = s.random.chance(15);
  if(!null && (!model.primary || model.stack.size() >= deepest))
    return;
  std::string variant = model.contextIsAlive() ? "good" : "gone";
  if(null)
    variant = "null";
  const bool pushed =
      s.succeeds({.function = "cuCtxPushCurrent_v2", .variant = variant, .effect = Effect::ChangesState},
                 [&](std::string&) { return s.cuda.ctxPushCurrent(null ? nullptr : model.primary); });
  if(pushed)
    model.stack.push_back(!null);
}

void pop(Session& s) {
  Model& model = s.model;
  const bool null = s.random.chance(10);
  std::string variant = model.stack.empty() ? "empty" : "good";
  if(null)
    variant += "-no-output";
  const bool popped =
      s.succeeds({.function = "cuCtxPopCurrent_v2", .variant = variant, .effect = Effect::ChangesState},
                 [&](std::string& value) {
                   api::Context context{};
                   const api::Status status = s.cuda.ctxPopCurrent(null ? nullptr : &context);
                   if(status == api::Status::Success && !null)
                     value = model.nameOf(context);
                   return status;
                 });
  if(!popped)
    return;
  if(model.stack.empty())
    s.end();
  else
    model.stack.pop_back();
}

void setCurrent(Session& s) {
  Model& model = s.model;
  const bool null = s.random.chance(40);
  if(!null && !model.primary)
    return;
  std::string variant = model.contextIsAlive() ? "good" : "gone";
  if(null)
    variant = "null";
  const bool set =
      s.succeeds({.function = "cuCtxSetCurrent", .variant = variant, .effect = Effect::ChangesState},
                 [&](std::string&) { return s.cudaApi.ctxSetCurrent(null ? nullptr : model.primary); });
  if(!set)
    return;
  if(!model.stack.empty())
    model.stack.pop_back();
  if(!null)
    model.stack.push_back(true);
}

void askContext(Session& s) {
  const Model& model = s.model;
  if(s.random.chance(50)) {
    s.call({.function = "cuCtxGetCurrent", .variant = "good", .context = model.contextSuffix()},
           [&](std::string& value) {
             api::Context context{};
             const api::Status status = s.cuda.ctxGetCurrent(&context);
             if(status == api::Status::Success)
               value = model.nameOf(context);
             return status;
           });
    return;
  }
  const bool null = s.random.chance(10);
  s.call({.function = "cuCtxGetDevice",
          .variant = null ? "no-output" : "good",
          .context = model.contextSuffix()},
         [&](std::string& value) {
           api::Device device{};
           const api::Status status = s.cuda.ctxGetDevice(null ? nullptr : &device);
           if(status == api::Status::Success && !null)
             value = std::to_string(static_cast<int>(device));
           return status;
         });
}

void askPrimaryState(Session& s) {
  const bool bad = s.random.chance(20);
  const int ordinal = bad ? s.random.of({-1, 64}) : 0;
  s.call({.function = "cuDevicePrimaryCtxGetState",
          .variant = bad ? "bad-device" : "good",
          .arguments = Arguments{}("device", ordinal)},
         [&](std::string& value) {
           unsigned flags{};
           int active{};
           const api::Status status =
               s.cudaApi.primaryCtxGetState(static_cast<api::Device>(ordinal), &flags, &active);
           if(status == api::Status::Success)
             value = "flags=" + std::to_string(flags) + " active=" + std::to_string(active);
           return status;
         });
}

} // namespace rdmagpu::testkit::operations
