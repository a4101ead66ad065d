#include <capi/call.hpp>
#include <capi/objects.hpp>
#include <capi/verbs_objects.hpp>

#include <new>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(Access::RemoteAtomic) == RDMAGPU_ACCESS_REMOTE_ATOMIC);
static_assert(static_cast<int>(RegistrationPath::HostPages) + 1 == RDMAGPU_VERBS_PATH_HOST_PAGES);
static_assert(static_cast<int>(RegistrationPath::PeerMemory) + 1 == RDMAGPU_VERBS_PATH_PEER_MEMORY);

int32_t toC(RegistrationPath path) noexcept { return static_cast<int32_t>(path) + 1; }

Result<VerbsOptions> readOptions(const char* call, const rdmagpu_verbs_options* from) noexcept {
  VerbsOptions options;
  if(!from)
    return options;
  const auto c = capi::read(call, from);
  if(!c)
    return c.error();
  constexpr std::uint32_t flags = RDMAGPU_VERBS_SEND_ONLY * 2 - 1;
  if(const auto good = capi::checkBits("rdmagpu_verbs_options::flags", c->flags, flags); !good)
    return good.error();
  if(const auto good = capi::checkBits("rdmagpu_verbs_options::reserved", c->reserved, 0); !good)
    return good.error();
  const bool sendOnly = (c->flags & RDMAGPU_VERBS_SEND_ONLY) != 0;
  const std::uint32_t known = sendOnly ? 0 : RDMAGPU_ACCESS_REMOTE_ATOMIC * 2 - 1;
  if(const auto good = capi::checkBits("rdmagpu_verbs_options::access", c->access, known); !good)
    return good.error();
  if(c->path != RDMAGPU_VERBS_PATH_ANY) {
    const auto path =
        c->path > 0 ? capi::enumerator(c->path - 1, RegistrationPath::PeerMemory) : std::nullopt;
    if(!path)
      return libraryError("rdmagpu_verbs_options::path", LibraryCode::ValueUnknown,
                          static_cast<std::uint32_t>(c->path), RDMAGPU_VERBS_PATH_PEER_MEMORY);
    options.path = *path;
  }
  if(sendOnly || c->access != 0)
    options.access = static_cast<Access>(c->access);
  if((c->flags & RDMAGPU_VERBS_ONE_SLOT) != 0)
    options.slot = c->slot;
  if((c->flags & RDMAGPU_VERBS_AT_IOVA) != 0)
    options.iova = c->iova;
  options.dataDirect = (c->flags & RDMAGPU_VERBS_DATA_DIRECT) != 0;
  options.relaxedOrdering = (c->flags & RDMAGPU_VERBS_RELAXED_ORDERING) != 0;
  options.onDemand = (c->flags & RDMAGPU_VERBS_ON_DEMAND) != 0;
  options.fork = (c->flags & RDMAGPU_VERBS_FORK_REQUIRE) != 0 ? ForkPolicy::Require : ForkPolicy::Leave;
  return options;
}

} // namespace

extern "C" {

int rdmagpu_verbs_names_create(rdmagpu_verbs_names** names, rdmagpu_error* error) {
  return capi::create("rdmagpu_verbs_names_create", names, error, [] { return VerbsDevice::names(); });
}

void rdmagpu_verbs_names_destroy(rdmagpu_verbs_names* names) { delete names; }

size_t rdmagpu_verbs_names_count(const rdmagpu_verbs_names* names) { return names ? names->value.size() : 0; }

const char* rdmagpu_verbs_names_get(const rdmagpu_verbs_names* names, size_t index) {
  return index < rdmagpu_verbs_names_count(names) ? names->value[index].c_str() : nullptr;
}

int rdmagpu_verbs_device_open(const char* name, rdmagpu_verbs_device** device, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_device_open";
  return capi::create(call, device, error, [&]() -> Result<VerbsDevice> {
    if(const auto given = capi::checkPointers(call, name); !given)
      return given.error();
    return VerbsDevice::open(name);
  });
}

void rdmagpu_verbs_device_destroy(rdmagpu_verbs_device* device) { delete device; }

int rdmagpu_verbs_device_pci(const rdmagpu_verbs_device* device, rdmagpu_pci_address* pci,
                             rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_device_pci";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, device, pci); !given)
      return given;
    *pci = capi::toC(device->value.pci());
    return {};
  });
}

struct ibv_pd* rdmagpu_verbs_device_domain(const rdmagpu_verbs_device* device) {
  return device ? device->value.domain() : nullptr;
}

const char* rdmagpu_verbs_path_name(int32_t path) {
  return path > 0 ? capi::nameOf(path - 1, RegistrationPath::PeerMemory) : nullptr;
}

void rdmagpu_verbs_attempts_destroy(rdmagpu_verbs_attempts* attempts) { delete attempts; }

size_t rdmagpu_verbs_attempts_count(const rdmagpu_verbs_attempts* attempts) {
  return attempts ? attempts->value.size() : 0;
}

bool rdmagpu_verbs_attempts_get(const rdmagpu_verbs_attempts* attempts, size_t index, int32_t* path,
                                rdmagpu_error* failure) {
  if(!path || index >= rdmagpu_verbs_attempts_count(attempts))
    return false;
  const RegistrationAttempt& tried = attempts->value[index];
  if(!capi::write("rdmagpu_verbs_attempts_get", capi::toC(tried.error), failure))
    return false;
  *path = toC(tried.path);
  return true;
}

size_t rdmagpu_verbs_attempts_text(const rdmagpu_verbs_attempts* attempts, char* text, size_t size) {
  try {
    return capi::copyText(attempts ? describe(attempts->value) : std::string{}, text, size);
  } catch(const std::bad_alloc&) {
    return capi::copyText("no memory is left for the text", text, size);
  }
}

int rdmagpu_verbs_registration_create(struct ibv_pd* domain, const rdmagpu_buffer* buffer,
                                      const rdmagpu_verbs_options* options,
                                      rdmagpu_verbs_registration** registration,
                                      rdmagpu_verbs_attempts** attempts, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_registration_create";
  if(attempts)
    *attempts = nullptr;
  return capi::create(call, registration, error, [&]() -> Result<VerbsRegistration> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    const auto wanted = readOptions(call, options);
    if(!wanted)
      return wanted.error();
    if(!attempts)
      return VerbsRegistration::make(domain, buffer->value, *wanted);
    auto tried = std::make_unique<rdmagpu_verbs_attempts>();
    auto made = VerbsRegistration::make(domain, buffer->value, *wanted, &tried->value);
    *attempts = tried.release();
    return made;
  });
}

void rdmagpu_verbs_registration_destroy(rdmagpu_verbs_registration* registration) { delete registration; }

int rdmagpu_verbs_registration_deregister(rdmagpu_verbs_registration* registration, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_verbs_registration_deregister";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, registration); !given)
      return given;
    return registration->value.deregister();
  });
}

int rdmagpu_verbs_registration_facts(const rdmagpu_verbs_registration* registration,
                                     rdmagpu_verbs_facts* facts, rdmagpu_error* error) {
  return capi::fill("rdmagpu_verbs_registration_facts", registration, facts, error,
                    [](const rdmagpu_verbs_registration& r) {
                      return rdmagpu_verbs_facts{.struct_size = 0,
                                                 .path = r.value.valid() ? toC(r.value.path())
                                                                         : RDMAGPU_VERBS_PATH_ANY,
                                                 .lkey = r.value.lkey(),
                                                 .rkey = r.value.rkey(),
                                                 .iova = r.value.iova(),
                                                 .size = r.value.size(),
                                                 .native = r.value.native()};
                    });
}

bool rdmagpu_verbs_remote_address(const rdmagpu_verbs_registration* registration, uint32_t slot,
                                  uint64_t* address) {
  const auto found = registration ? registration->value.remoteAddress(slot) : std::nullopt;
  if(found && address)
    *address = *found;
  return found && address;
}

} // extern "C"
