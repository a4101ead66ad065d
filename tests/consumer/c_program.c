/* The whole way in C: slots, what a peer would want, frames through a ring, a proof, and what a failure says.
 */
#include <rdmagpu/rdmagpu.h>

#include <stdio.h>
#include <string.h>

enum { slots = 4, frames = 50 };
static const size_t frame_bytes = 1920u * 1080u * 2u;

static int fail(const char* what, const rdmagpu_error* error) {
  char text[500];
  rdmagpu_error_message(error, text, sizeof text);
  fprintf(stderr, "%s: %s\n", what, text);
  for(size_t i = 0; i < rdmagpu_error_hint_count(error); ++i)
    fprintf(stderr, "  %s\n", rdmagpu_error_hint(error, i));
  return 1;
}

/* A peer and a consumer in one thread. */
static int stream(rdmagpu_buffer* buffer, rdmagpu_ring* ring) {
  for(int i = 0; i < frames; ++i) {
    uint32_t slot;
    rdmagpu_slot at = RDMAGPU_INIT(rdmagpu_slot);
    rdmagpu_frame frame = RDMAGPU_INIT(rdmagpu_frame);
    rdmagpu_completion none = {0};
    if(rdmagpu_ring_acquire(ring, &slot, 0) != RDMAGPU_RING_OK ||
       rdmagpu_buffer_slot(buffer, slot, &at, NULL) != RDMAGPU_OK ||
       at.handoff_kind != RDMAGPU_HANDOFF_HOST_POINTER)
      return 1;
    memset((void*)(uintptr_t)at.handoff, i, frame_bytes);
    if(rdmagpu_ring_publish(ring, slot, i, frame_bytes, frame_bytes, none) != RDMAGPU_RING_OK ||
       rdmagpu_ring_take(ring, &frame, 0) != RDMAGPU_RING_OK || frame.sequence != (uint64_t)i)
      return 1;
    unsigned char last;
    if(rdmagpu_buffer_download(buffer, frame.slot, frame_bytes - 1, &last, 1, NULL) != RDMAGPU_OK ||
       last != (unsigned char)i || rdmagpu_ring_release(ring, frame.slot, none) != RDMAGPU_RING_OK)
      return 1;
  }
  return 0;
}

int main(void) {
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  rdmagpu_config config = RDMAGPU_INIT(rdmagpu_config);
  config.api = RDMAGPU_API_HOST;
  config.slot_count = slots;
  config.frame_bytes = frame_bytes;

  rdmagpu_buffer* buffer;
  if(rdmagpu_buffer_create(&config, &buffer, &error) != RDMAGPU_OK)
    return fail("create", &error);
  rdmagpu_ring* ring;
  if(rdmagpu_ring_create(slots, RDMAGPU_RING_FIFO, &ring, &error) != RDMAGPU_OK)
    return fail("ring", &error);
  const int failed = stream(buffer, ring);
  rdmagpu_ring_destroy(ring);

  rdmagpu_report* report;
  rdmagpu_report_facts facts = RDMAGPU_INIT(rdmagpu_report_facts);
  if(rdmagpu_verify(buffer, NULL, NULL, &report, &error) != RDMAGPU_OK ||
     rdmagpu_report_facts_of(report, &facts, &error) != RDMAGPU_OK)
    return fail("verify", &error);
  rdmagpu_report_destroy(report);
  rdmagpu_buffer_destroy(buffer);

  rdmagpu_diagnosis* diagnosis;
  rdmagpu_diagnosis_facts machine = RDMAGPU_INIT(rdmagpu_diagnosis_facts);
#ifdef _WIN32 /* what it examines are files of Linux */
  if(rdmagpu_diagnose(NULL, &diagnosis, &error) != RDMAGPU_UNSUPPORTED || diagnosis)
    return 1;
#else
  if(rdmagpu_diagnose(NULL, &diagnosis, &error) != RDMAGPU_OK ||
     rdmagpu_diagnosis_facts_of(diagnosis, &machine, &error) != RDMAGPU_OK)
    return fail("diagnose", &error);
#endif
  for(size_t i = 0; i < machine.finding_count; ++i) {
    rdmagpu_finding finding = RDMAGPU_INIT(rdmagpu_finding);
    if(!rdmagpu_diagnosis_finding(diagnosis, i, &finding))
      return 1;
    printf("%s: %s\n", rdmagpu_severity_name(finding.severity), finding.title);
  }
  rdmagpu_diagnosis_destroy(diagnosis);

  config.frame_bytes = 0;
  if(rdmagpu_buffer_create(&config, &buffer, &error) != RDMAGPU_INVALID_ARGUMENT || buffer)
    return 1;
  printf("rdmagpu %s: %d frames, %s\n", rdmagpu_version(), frames, failed ? "wrong" : "right");
  return failed || facts.write != RDMAGPU_YES || facts.read != RDMAGPU_YES;
}
