#include <program/operations.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace rdmagpu::testkit::operations {
namespace {

constexpr std::size_t page = 4096;

/// What can be told of a descriptor that the driver made, which is then closed.
std::string describeAndClose(int fd, bool withSize) {
  if(fd < 0)
    return "none";
  const off_t end = withSize ? lseek(fd, 0, SEEK_END) : 0;
  const bool closesOnExec = (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
  close(fd);
  return (withSize ? "size=" + std::to_string(end) + " " : "") + (closesOnExec ? "cloexec" : "inherited");
}

const Handle* pickLive(Session& s) {
  return s.model.handles.empty() ? nullptr : &s.model.handles[s.random.below(s.model.handles.size())];
}

/// The value in the place of a pointer is how the driver takes a descriptor.
void* asPointer(int fd) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); }

} // namespace

void exportRange(Session& s) {
  Place place = s.pickPlace();
  std::string range = s.random.of(
      {"page", "page", "whole", "whole", "odd-size", "odd-start", "zero", "past", "spanning", "huge"});
  const std::string wrong =
      s.random.of({"", "", "", "", "", "", "pcie", "bad-flags", "bad-type", "no-output"});
  const bool plain = std::string_view{place.kind} == "plain";
  const bool aligns = !plain || s.random.chance(70);
  if(plain &&
     place.room < s.model.granularity) // where a small piece lies on its page is the driver's to choose
    return;
  const std::size_t lead = (page - place.address % page) % page;
  if(aligns) {
    place.address += lead;
    place.room -= lead;
    place.name += lead ? "^" : "";
  }
  std::size_t bytes = page;
  if(range == "whole")
    bytes = place.room / page * page;
  if(range == "odd-size")
    bytes = s.random.of({std::size_t{1}, page + 512, page - 1});
  if(range == "odd-start")
    place.address += s.random.of<api::DevicePtr>({1, 512});
  if(range == "zero")
    bytes = 0;
  if(range == "past")
    bytes = place.room / page * page + (place.hole ? place.hole : std::size_t{64} << 20);
  if(range == "spanning" && place.alike)
    bytes = place.room + (s.random.chance(50) ? place.alike : page);
  else if(range == "spanning")
    range = "page";
  if(range == "huge")
    bytes = std::size_t{1} << 62;
  if(place.address % page != 0 && range != "odd-start")
    range += "-unaligned";
  const auto type = static_cast<api::RangeHandleType>(wrong == "bad-type" ? s.random.of({0, 2}) : 1);
  unsigned long long flags = wrong == "pcie" ? 1 : 0;
  if(wrong == "bad-flags")
    flags = s.random.of({2ULL, 4ULL});
  const bool reused =
      std::string_view{place.kind}.starts_with("stale") && s.model.isTaken(place.address, page);
  s.call({.function = "cuMemGetHandleForAddressRange",
          .variant = std::string{place.kind} + "-" + range + (wrong.empty() ? "" : "-") + wrong,
          .arguments = Arguments{}("address", place.name)("bytes", bytes)(
              "type", static_cast<unsigned>(type))("flags", flags),
          .reused = reused,
          .context = s.model.contextSuffix()},
         [&](std::string& value) {
           int fd = -1;
           const api::Status status = s.cuda.memGetHandleForAddressRange(wrong == "no-output" ? nullptr : &fd,
                                                                         place.address, bytes, type, flags);
           if(status == api::Status::Success)
             value = describeAndClose(fd, true);
           return status;
         });
}

void shareHandle(Session& s) {
  const std::string variant = s.random.of({"good", "good", "good", "bad-type", "bad-flags", "zero-handle"});
  const Handle* handle = variant == "zero-handle" ? nullptr : pickLive(s);
  if(!handle && variant != "zero-handle")
    return;
  const api::MemHandle value = handle ? handle->value : api::MemHandle{};
  const auto type = static_cast<api::HandleType>(variant == "bad-type" ? s.random.of({0, 2, 64}) : 1);
  const unsigned long long flags = variant == "bad-flags" ? 1 : 0;
  s.call({.function = "cuMemExportToShareableHandle",
          .variant = variant,
          .arguments = Arguments{}("handle", handle ? handle->name() : "0")(
              "type", static_cast<unsigned>(type))("flags", flags)},
         [&](std::string& text) {
           int fd = -1;
           const api::Status status = s.cuda.memExportToShareableHandle(&fd, value, type, flags);
           if(status == api::Status::Success)
             text = describeAndClose(fd, false);
           return status;
         });
}

void importHandle(Session& s) {
  const std::string variant =
      s.random.of({"good", "good", "bad-type", "not-a-descriptor", "closed", "of-a-file"});
  const Handle* handle = pickLive(s);
  if(!handle || s.model.handles.size() > 12)
    return;
  int fd = -1;
  bool exported = false;
  if(variant == "good" || variant == "bad-type") {
    exported = s.succeeds({.function = "cuMemExportToShareableHandle",
                           .variant = "good",
                           .arguments = Arguments{}("handle", handle->name())("type", 1)("flags", 0)},
                          [&](std::string&) {
                            return s.cuda.memExportToShareableHandle(&fd, handle->value,
                                                                     api::HandleType::PosixFileDescriptor, 0);
                          });
    if(!exported)
      return;
  }
  if(variant == "closed")
    fd = 1000;
  if(variant == "of-a-file")
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  const auto type = static_cast<api::HandleType>(variant == "bad-type" ? s.random.of({0, 2, 64}) : 1);
  api::MemHandle imported{};
  const bool good = s.succeeds(
      {.function = "cuMemImportFromShareableHandle",
       .variant = variant,
       .arguments = Arguments{}("of", handle->name())("type", static_cast<unsigned>(type)),
       .effect = Effect::ChangesState},
      [&](std::string&) { return s.cuda.memImportFromShareableHandle(&imported, asPointer(fd), type); });
  if(exported || variant == "of-a-file")
    close(fd);
  if(!good)
    return;
  const std::size_t bytes = handle->bytes;
  s.model.handles.push_back({imported, bytes, s.newId()});
}

void getPointerAttribute(Session& s) {
  const Place place = s.pickPlace();
  const bool unknown = s.random.chance(15);
  const bool null = s.random.chance(5);
  const auto attribute =
      unknown ? s.random.of({static_cast<api::PointerAttribute>(0), static_cast<api::PointerAttribute>(9999)})
              : api::PointerAttribute::IsGpuDirectRdmaCapable;
  std::string variant = place.kind;
  if(unknown)
    variant += "-unknown";
  if(null)
    variant += "-no-output";
  s.call({.function = "cuPointerGetAttribute",
          .variant = variant,
          .arguments = Arguments{}("address", place.name)("attribute", static_cast<unsigned>(attribute)),
          .reused = std::string_view{place.kind}.starts_with("stale") && s.model.isTaken(place.address, 1),
          .context = s.model.contextSuffix()},
         [&](std::string& value) {
           int answer = 0;
           const api::Status status =
               s.cuda.pointerGetAttribute(null ? nullptr : &answer, attribute, place.address);
           if(status == api::Status::Success)
             value = std::to_string(answer);
           return status;
         });
}

void setPointerAttribute(Session& s) {
  const Place place = s.pickPlace();
  const std::uint32_t on = s.random.of({1U, 1U, 1U, 0U, 2U});
  const bool unknown = s.random.chance(15);
  const auto attribute = unknown ? s.random.of({api::PointerAttribute::IsGpuDirectRdmaCapable,
                                                static_cast<api::PointerAttribute>(9999)})
                                 : api::PointerAttribute::SyncMemops;
  std::string variant = place.kind;
  if(unknown)
    variant += "-unknown";
  if(on > 1)
    variant += "-bad-value";
  s.call({.function = "cuPointerSetAttribute",
          .variant = variant,
          .arguments =
              Arguments{}("address", place.name)("attribute", static_cast<unsigned>(attribute))("value", on),
          .reused = std::string_view{place.kind}.starts_with("stale") && s.model.isTaken(place.address, 1),
          .context = s.model.contextSuffix()},
         [&](std::string&) { return s.cuda.pointerSetAttribute(&on, attribute, place.address); });
}

} // namespace rdmagpu::testkit::operations
