#pragma once

/* A stand-in for the header of Deltacast's SDK: its published names, as far as the tests and examples use
   them. Values and layouts are our own, and differ from the SDK's where that finds code that relies on them.
 */

typedef void* HANDLE;
typedef unsigned int ULONG;
typedef unsigned char BYTE;
typedef int BOOL32;
#define TRUE 1
#define FALSE 0

typedef enum {
  VHDERR_NOERROR,
  VHDERR_FATALERROR,
  VHDERR_OPERATIONFAILED,
  VHDERR_NOTENOUGHRESOURCE,
  VHDERR_NOTIMPLEMENTED,
  VHDERR_NOTFOUND,
  VHDERR_BADARG,
  VHDERR_INVALIDPOINTER,
  VHDERR_INVALIDHANDLE,
  VHDERR_INVALIDSTREAM,
  VHDERR_RESOURCELOCKED,
  VHDERR_BOARDNOTPRESENT,
  VHDERR_TIMEOUT,
  VHDERR_STREAMNOTRUNNING,
  VHDERR_BADINPUTSIGNAL,
  VHDERR_BUFFERTOOSMALL
} VHD_ERRORCODE;

enum { VHD_ST_RX0 = 10, VHD_ST_TX0 = 20 };
enum { VHD_CORE_SP_SLOTS_DROPPED = 100, VHD_CORE_SP_BUFFER_PACKING };
enum { VHD_BUFPACK_VIDEO_YUV422_8 = 200 };

#ifdef __cplusplus
extern "C" {
#endif

ULONG VHD_OpenBoardHandle(ULONG index, HANDLE* board, HANDLE onStateChange, ULONG stateChangeMask);
ULONG VHD_CloseBoardHandle(HANDLE board);
ULONG VHD_OpenStreamHandle(HANDLE board, ULONG streamType, ULONG processing, BOOL32* setupLock,
                           HANDLE* stream, HANDLE onDataReady);
ULONG VHD_CloseStreamHandle(HANDLE stream);
ULONG VHD_SetStreamProperty(HANDLE stream, ULONG property, ULONG value);
ULONG VHD_GetStreamProperty(HANDLE stream, ULONG property, ULONG* value);
ULONG VHD_StartStream(HANDLE stream);
ULONG VHD_StopStream(HANDLE stream);
ULONG VHD_GetSlotBuffer(HANDLE slot, ULONG bufferType, BYTE** buffer, ULONG* size);

#ifdef __cplusplus
}
#endif
