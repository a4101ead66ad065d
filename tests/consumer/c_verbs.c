/* A NIC's registration from C, in a machine that need not have one. */
#include <rdmagpu/rdmagpu.h>
#include <rdmagpu/rdmagpu_verbs.h>

#include <stdio.h>

int main(void) {
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  rdmagpu_verbs_names* names;
  if(rdmagpu_verbs_names_create(&names, &error) == RDMAGPU_OK) {
    for(size_t i = 0; i < rdmagpu_verbs_names_count(names); ++i)
      printf("%s\n", rdmagpu_verbs_names_get(names, i));
    rdmagpu_verbs_names_destroy(names);
  }
  rdmagpu_config config = RDMAGPU_INIT(rdmagpu_config);
  config.api = RDMAGPU_API_HOST;
  config.slot_count = 2;
  config.frame_bytes = 1000;
  rdmagpu_buffer* buffer;
  if(rdmagpu_buffer_create(&config, &buffer, &error) != RDMAGPU_OK)
    return 1;
  rdmagpu_verbs_options options = RDMAGPU_INIT(rdmagpu_verbs_options);
  rdmagpu_verbs_registration* registration;
  const int without_domain =
      rdmagpu_verbs_registration_create(NULL, buffer, &options, &registration, NULL, &error);
  rdmagpu_buffer_destroy(buffer);
  return without_domain != RDMAGPU_INVALID_ARGUMENT || registration;
}
