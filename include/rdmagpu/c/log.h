#ifndef RDMAGPU_C_LOG_H
#define RDMAGPU_C_LOG_H

#include <rdmagpu/c/error.h>

RDMAGPU_C_BEGIN

typedef enum rdmagpu_log_level {
  RDMAGPU_LOG_INFO = 0,
  RDMAGPU_LOG_WARNING = 1,
  RDMAGPU_LOG_FAILURE = 2,
} rdmagpu_log_level;

/* Receives what cannot be returned; see LogSink. Text and error live for the call; error is null when there
 * is none. Any thread may call it. It must not call back into the library. */
typedef void (*rdmagpu_log_sink)(void* context, int32_t level, const char* text, const rdmagpu_error* error);

/* Replaces the sink for the whole process; null restores the default, which is silence. Keep the context of
 * the one that was there before until no other thread can still be in it. */
RDMAGPU_C_API void rdmagpu_set_log_sink(rdmagpu_log_sink sink, void* context);

RDMAGPU_C_END
#endif
