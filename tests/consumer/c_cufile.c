/* A file read into a slot from C, with or without cuFile. */
#include <rdmagpu/rdmagpu.h>
#include <rdmagpu/rdmagpu_cufile.h>

#include <stdio.h>

int main(int argc, char** argv) {
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  rdmagpu_config config = RDMAGPU_INIT(rdmagpu_config);
  config.api = RDMAGPU_API_HOST;
  config.slot_count = 2;
  config.frame_bytes = 4096;
  rdmagpu_buffer* buffer;
  rdmagpu_cufile_registration* slots;
  rdmagpu_cufile* file;
  if(argc < 1 || rdmagpu_buffer_create(&config, &buffer, &error) != RDMAGPU_OK ||
     rdmagpu_cufile_registration_create(buffer, RDMAGPU_CUFILE_TRY, &slots, &error) != RDMAGPU_OK ||
     rdmagpu_cufile_open(slots, argv[0], RDMAGPU_FILE_READ, &file, &error) != RDMAGPU_OK)
    return 1;
  rdmagpu_cufile_registration_destroy(slots);
  rdmagpu_file_transfer read = RDMAGPU_INIT(rdmagpu_file_transfer);
  char magic[4] = "";
  const int failed = rdmagpu_cufile_read(file, 1, 4096, 0, 0, &read, &error) != RDMAGPU_OK ||
                     rdmagpu_buffer_download(buffer, 1, 0, magic, 4, &error) != RDMAGPU_OK;
  rdmagpu_cufile_destroy(file);
  rdmagpu_buffer_destroy(buffer);
  printf("%d bytes, %s\n", (int)read.bytes, rdmagpu_storage_path_name(read.path));
  return failed || read.bytes != 4096 || magic[1] != 'E'; /* of an ELF file, this program */
}
