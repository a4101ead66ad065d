#include <capi/call.hpp>
#include <capi/cufile_objects.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(StoragePath::Undecided) == RDMAGPU_STORAGE_PATH_UNDECIDED);
static_assert(static_cast<int>(StoragePath::PageCache) == RDMAGPU_STORAGE_PATH_PAGE_CACHE);
static_assert(static_cast<int>(CuFileUse::Off) == RDMAGPU_CUFILE_OFF);
static_assert(static_cast<int>(FileAccess::Write) == RDMAGPU_FILE_WRITE);

/// Moves bytes, unless there is no room to tell how that went.
template <class Move>
int transfer(const char* call, const rdmagpu_cufile* file, rdmagpu_file_transfer* to, rdmagpu_error* error,
             Move move) noexcept {
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, file); !given)
      return given;
    if(const auto room = to ? capi::checkStruct(call, to) : Result<void>{}; !room)
      return room;
    const auto done = move(file->value);
    if(!done)
      return done.error();
    return to ? capi::write(call,
                            rdmagpu_file_transfer{.struct_size = 0,
                                                  .path = static_cast<int32_t>(done->path),
                                                  .bytes = done->bytes},
                            to)
              : Result<void>{};
  });
}

} // namespace

extern "C" {

const char* rdmagpu_storage_path_name(int32_t path) { return capi::nameOf(path, StoragePath::PageCache); }

int32_t rdmagpu_storage_is_direct(int32_t path) {
  const auto known = capi::enumerator(path, StoragePath::PageCache);
  return known ? static_cast<int32_t>(isDirect(*known)) : RDMAGPU_UNKNOWN;
}

int rdmagpu_cufile_registration_create(const rdmagpu_buffer* buffer, int32_t use,
                                       rdmagpu_cufile_registration** registration, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_registration_create";
  return capi::create(call, registration, error, [&]() -> Result<CuFileRegistration> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    const auto known = capi::value(call, use, CuFileUse::Off);
    if(!known)
      return known.error();
    return CuFileRegistration::make(buffer->value, {.use = *known});
  });
}

void rdmagpu_cufile_registration_destroy(rdmagpu_cufile_registration* registration) { delete registration; }

int rdmagpu_cufile_registration_facts(const rdmagpu_cufile_registration* registration,
                                      rdmagpu_cufile_facts* facts, rdmagpu_error* error) {
  return capi::fill(
      "rdmagpu_cufile_registration_facts", registration, facts, error,
      [](const rdmagpu_cufile_registration& r) { return capi::toC(r.value.facts(), r.value.path()); });
}

int rdmagpu_cufile_registration_reason(const rdmagpu_cufile_registration* registration, rdmagpu_error* reason,
                                       rdmagpu_error* error) {
  return capi::fill("rdmagpu_cufile_registration_reason", registration, reason, error,
                    [](const rdmagpu_cufile_registration& r) { return capi::toC(r.value.reason()); });
}

int rdmagpu_cufile_registration_deregister(rdmagpu_cufile_registration* registration, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_registration_deregister";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, registration); !given)
      return given;
    return registration->value.deregister();
  });
}

int rdmagpu_cufile_open(const rdmagpu_cufile_registration* registration, const char* path, int32_t access,
                        rdmagpu_cufile** file, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_open";
  return capi::create(call, file, error, [&]() -> Result<CuFile> {
    if(const auto given = capi::checkPointers(call, registration, path); !given)
      return given.error();
    const auto known = capi::value(call, access, FileAccess::Write);
    if(!known)
      return known.error();
    return CuFile::open(registration->value, path, *known);
  });
}

int rdmagpu_cufile_of(const rdmagpu_cufile_registration* registration, int fd, rdmagpu_cufile** file,
                      rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_of";
  return capi::create(call, file, error, [&]() -> Result<CuFile> {
    if(const auto given = capi::checkPointers(call, registration); !given)
      return given.error();
    return CuFile::of(registration->value, fd);
  });
}

void rdmagpu_cufile_destroy(rdmagpu_cufile* file) { delete file; }

int32_t rdmagpu_cufile_path(const rdmagpu_cufile* file) {
  return file ? static_cast<int32_t>(file->value.path()) : -1;
}

int rdmagpu_cufile_reason(const rdmagpu_cufile* file, rdmagpu_error* reason, rdmagpu_error* error) {
  return capi::fill("rdmagpu_cufile_reason", file, reason, error,
                    [](const rdmagpu_cufile& f) { return capi::toC(f.value.reason()); });
}

int rdmagpu_cufile_size(const rdmagpu_cufile* file, uint64_t* size, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_size";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, file, size); !given)
      return given;
    const auto known = file->value.size();
    if(!known)
      return known.error();
    *size = *known;
    return {};
  });
}

int rdmagpu_cufile_read(const rdmagpu_cufile* file, uint32_t slot, size_t bytes, uint64_t fileOffset,
                        size_t slotOffset, rdmagpu_file_transfer* to, rdmagpu_error* error) {
  return transfer("rdmagpu_cufile_read", file, to, error,
                  [&](const CuFile& from) { return from.read(slot, bytes, fileOffset, slotOffset); });
}

int rdmagpu_cufile_write(const rdmagpu_cufile* file, uint32_t slot, size_t bytes, uint64_t fileOffset,
                         size_t slotOffset, rdmagpu_file_transfer* to, rdmagpu_error* error) {
  return transfer("rdmagpu_cufile_write", file, to, error,
                  [&](const CuFile& into) { return into.write(slot, bytes, fileOffset, slotOffset); });
}

} // extern "C"
