#include <capi/call.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

extern "C" {

int rdmagpu_buffer_share(const rdmagpu_buffer* buffer, rdmagpu_shared** shared, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_buffer_share";
  return capi::create(call, shared, error, [&]() -> Result<SharedBuffer> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    return buffer->value.share();
  });
}

int rdmagpu_shared_send(const rdmagpu_shared* shared, int unixSocket, rdmagpu_error* error) {
  return capi::run("rdmagpu_shared_send", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_shared_send", shared); !given)
      return given;
    return shared->value.send(unixSocket);
  });
}

int rdmagpu_shared_token(const rdmagpu_shared* shared, char* text, size_t size, size_t* length,
                         rdmagpu_error* error) {
  return capi::run("rdmagpu_shared_token", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_shared_token", shared, length); !given)
      return given;
    const auto token = shared->value.token();
    if(!token)
      return token.error();
    *length = capi::copyText(*token, text, size);
    return {};
  });
}

int rdmagpu_shared_fd(const rdmagpu_shared* shared) { return shared ? shared->value.fd() : -1; }

void rdmagpu_shared_destroy(rdmagpu_shared* shared) { delete shared; }

int rdmagpu_buffer_attach_socket(int unixSocket, rdmagpu_buffer** buffer, rdmagpu_error* error) {
  return capi::create("rdmagpu_buffer_attach_socket", buffer, error,
                      [&] { return RdmaGpuBuffer::attach(unixSocket); });
}

int rdmagpu_buffer_attach_token(const char* token, rdmagpu_buffer** buffer, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_buffer_attach_token";
  return capi::create(call, buffer, error, [&]() -> Result<RdmaGpuBuffer> {
    if(const auto given = capi::checkPointers(call, token); !given)
      return given.error();
    return RdmaGpuBuffer::attach(std::string_view{token});
  });
}

} // extern "C"
