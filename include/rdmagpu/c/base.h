#ifndef RDMAGPU_C_BASE_H
#define RDMAGPU_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(RDMAGPU_BUILDING_C_DLL)
#define RDMAGPU_C_API __declspec(dllexport)
#elif defined(RDMAGPU_DLL)
#define RDMAGPU_C_API __declspec(dllimport)
#else
#define RDMAGPU_C_API
#endif
#else
#define RDMAGPU_C_API __attribute__((visibility("default")))
#endif

#if defined(__cplusplus)
#define RDMAGPU_C_BEGIN extern "C" {
#define RDMAGPU_C_END }
#else
#define RDMAGPU_C_BEGIN
#define RDMAGPU_C_END
#endif

/* Initialises a struct of this interface: rdmagpu_config config = RDMAGPU_INIT(rdmagpu_config); */
#if defined(__cplusplus)
#define RDMAGPU_INIT(type)                                                                                   \
  ([]() noexcept {                                                                                           \
    type sized{};                                                                                            \
    sized.struct_size = sizeof(type);                                                                        \
    return sized;                                                                                            \
  }())
#else
#define RDMAGPU_INIT(type)                                                                                   \
  { .struct_size = sizeof(type) }
#endif

RDMAGPU_C_BEGIN

/* The version of the library that is linked, such as "0.1.0". */
RDMAGPU_C_API const char* rdmagpu_version(void);

/* Where a device sits on the PCI bus. Part of other structs, so without a size: it will never change. */
typedef struct rdmagpu_pci_address {
  uint32_t domain;
  uint8_t bus;
  uint8_t device;   /* 0 to 31 */
  uint8_t function; /* 0 to 7 */
  uint8_t present;  /* 0: there is none, and the rest says nothing */
} rdmagpu_pci_address;

/* Reads "65:00.0" (domain 0) or "0000:65:00.0", in hexadecimal; false for any other text. */
RDMAGPU_C_API bool rdmagpu_pci_parse(const char* text, rdmagpu_pci_address* address);
/* Writes "0000:65:00.0"; nothing for one that is not present. Returns the text's length. */
RDMAGPU_C_API size_t rdmagpu_pci_text(rdmagpu_pci_address address, char* text, size_t size);

/* The answer to a question that may not have been asked. */
typedef enum rdmagpu_answer {
  RDMAGPU_UNKNOWN = 0,
  RDMAGPU_NO = 1,
  RDMAGPU_YES = 2,
} rdmagpu_answer;
RDMAGPU_C_API const char* rdmagpu_answer_name(int32_t answer); /* "yes", "no", "not-tried"; null for others */

RDMAGPU_C_END
#endif
