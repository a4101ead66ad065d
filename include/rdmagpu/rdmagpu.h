#ifndef RDMAGPU_RDMAGPU_H
#define RDMAGPU_RDMAGPU_H

/* rdmagpu for C11, and for languages that call C: memory that another device can read and write by DMA.
 *
 * It is the C++ interface (rdmagpu/rdma_gpu_buffer.hpp and its neighbours), function by function; the
 * comments there hold here too. What differs:
 *
 * - Objects are opaque. Who creates one destroys it; null is allowed there. No two threads may use one object
 * at the same time unless its functions take it as const, or its comment says more.
 * - Every struct begins with struct_size, which the caller sets: RDMAGPU_INIT(type) does, and sets the rest
 * to 0, which is the default of every option. Later versions append members only. A caller that was compiled
 * with an older version gets what its structs have room for; one with a newer version may not ask for what
 * this library does not know.
 * - A function that can fail returns 0, or an rdmagpu_errc and then tells the rest in *error, where that is
 * not null. What it was to give is as it was, but for pointers to objects, which are null then.
 * - Text that is returned as a const char* is static unless the function says how long it lives. Text that
 * goes into the caller's memory is cut where that is too small, and always ended; its whole length is
 * returned, without the 0 at the end.
 */
#include <rdmagpu/c/backends.h>
#include <rdmagpu/c/block_peer.h>
#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/copy_queue.h>
#include <rdmagpu/c/cuda.h>
#include <rdmagpu/c/dlpack.h>
#include <rdmagpu/c/dma_buf.h>
#include <rdmagpu/c/doctor.h>
#include <rdmagpu/c/error.h>
#include <rdmagpu/c/frame_proof.h>
#include <rdmagpu/c/inspect.h>
#include <rdmagpu/c/log.h>
#include <rdmagpu/c/registrar.h>
#include <rdmagpu/c/ring.h>
#include <rdmagpu/c/share.h>
#include <rdmagpu/c/software_peer.h>
#include <rdmagpu/c/staged.h>
#include <rdmagpu/c/verify.h>

#endif
