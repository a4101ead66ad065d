// One process owns the slots, a second one maps the same memory: no copy lies between them.
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstdio>
#include <span>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int fail(const char* who, const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s: %s\n", who, error.message().c_str());
  return 1;
}

int consumer(int socket) {
  const auto buffer = rdmagpu::RdmaGpuBuffer::attach(socket);
  if(!buffer)
    return fail("consumer", buffer.error());
  std::printf("consumer: slot 2 says \"%s\"\n", static_cast<const char*>(buffer->slot(2).gpuVA));
  return 0;
}

int owner(int socket) {
  const auto buffer = rdmagpu::RdmaGpuBuffer::make(
      {.api = rdmagpu::RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = 4096});
  if(!buffer)
    return fail("owner", buffer.error());
  constexpr char text[] = "written by the other process";
  if(const auto copied = buffer->upload(2, std::as_bytes(std::span{text})); !copied)
    return fail("owner", copied.error());
  const auto shared = buffer->share();
  if(!shared)
    return fail("owner", shared.error());
  if(const auto sent = shared->send(socket); !sent)
    return fail("owner", sent.error());
  return 0;
}

} // namespace

int main() {
  int sockets[2];
  if(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0)
    return 1;
  const pid_t child = fork();
  if(child == 0)
    return consumer(sockets[1]);
  const int mine = owner(sockets[0]);
  int status = 1;
  waitpid(child, &status, 0);
  return mine == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
