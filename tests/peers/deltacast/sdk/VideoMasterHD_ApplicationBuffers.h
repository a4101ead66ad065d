#pragma once

/* See VideoMasterHD_Core.h, which must have been included before. */

typedef struct {
  void* pUserContext;
  BYTE* pBuffer;
  ULONG Size;
  BOOL32 RDMAEnabled;
} VHD_APPLICATION_BUFFER_DESCRIPTOR;

#ifdef __cplusplus
extern "C" {
#endif

ULONG VHD_InitApplicationBuffers(HANDLE stream);
ULONG VHD_GetApplicationBuffersSize(HANDLE stream, ULONG bufferType, ULONG* size);
ULONG VHD_CreateSlotEx(HANDLE stream, VHD_APPLICATION_BUFFER_DESCRIPTOR* descriptors, HANDLE* slot);
ULONG VHD_DestroySlot(HANDLE slot);
ULONG VHD_QueueInSlot(HANDLE slot);
ULONG VHD_QueueOutSlot(HANDLE slot);
ULONG VHD_WaitSlotFilled(HANDLE stream, HANDLE* slot, ULONG timeout);
ULONG VHD_WaitSlotSent(HANDLE stream, HANDLE* slot, ULONG timeout);

#ifdef __cplusplus
}
#endif
