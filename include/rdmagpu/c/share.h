#ifndef RDMAGPU_C_SHARE_H
#define RDMAGPU_C_SHARE_H

#include <rdmagpu/c/buffer.h>

RDMAGPU_C_BEGIN

/* A buffer on its way to another process; see SharedBuffer. */
typedef struct rdmagpu_shared rdmagpu_shared;

RDMAGPU_C_API int rdmagpu_buffer_share(const rdmagpu_buffer* buffer, rdmagpu_shared** shared,
                                       rdmagpu_error* error);
/* Sends one message with the descriptor through a connected Unix-domain socket. */
RDMAGPU_C_API int rdmagpu_shared_send(const rdmagpu_shared* shared, int unix_socket, rdmagpu_error* error);
/* Describes the descriptor, which from then on survives exec(), for a child that inherits it. *length is the
 * text's length, and must not be null; with size 0 only that is told. */
RDMAGPU_C_API int rdmagpu_shared_token(const rdmagpu_shared* shared, char* text, size_t size, size_t* length,
                                       rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_shared_fd(const rdmagpu_shared* shared); /* -1: none */
RDMAGPU_C_API void rdmagpu_shared_destroy(rdmagpu_shared* shared);

/* Maps what another process has sent, or what this one inherited with a token. */
RDMAGPU_C_API int rdmagpu_buffer_attach_socket(int unix_socket, rdmagpu_buffer** buffer,
                                               rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_buffer_attach_token(const char* token, rdmagpu_buffer** buffer,
                                              rdmagpu_error* error);

RDMAGPU_C_END
#endif
