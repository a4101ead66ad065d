#pragma once

/* A stand-in for the header of Blackmagic's DeckLink SDK: its published names, as far as the tests and
   examples use them. Values and interface ids are our own but for that of IUnknown, which is COM's. */

#include <stdint.h>

typedef int HRESULT;
typedef unsigned long ULONG;
typedef void* LPVOID;
struct REFIID {
  unsigned char bytes[16];
};
#define STDMETHODCALLTYPE
#define S_OK 0
#define E_FAIL static_cast<HRESULT>(0x80004005)
#define E_NOINTERFACE static_cast<HRESULT>(0x80004002)
#define E_POINTER static_cast<HRESULT>(0x80004003)
#define E_OUTOFMEMORY static_cast<HRESULT>(0x8007000E)
#define E_ACCESSDENIED static_cast<HRESULT>(0x80070005)
#define E_INVALIDARG static_cast<HRESULT>(0x80070057)

typedef uint32_t BMDDisplayMode;
typedef uint32_t BMDPixelFormat;
typedef uint32_t BMDVideoInputFlags;
typedef uint32_t BMDVideoInputFormatChangedEvents;
typedef uint32_t BMDDetectedVideoInputFormatFlags;
typedef uint32_t BMDBufferAccessFlags;
typedef uint32_t BMDFrameFlags;
typedef int64_t BMDTimeValue;
typedef int64_t BMDTimeScale;
enum : BMDDisplayMode { bmdModeHD1080p25 = 1 };
enum : BMDPixelFormat { bmdFormat8BitYUV = 1 };
enum : BMDVideoInputFlags { bmdVideoInputFlagDefault = 0 };
enum : BMDBufferAccessFlags { bmdBufferAccessRead = 1, bmdBufferAccessWrite = 2 };
enum : BMDFrameFlags { bmdFrameHasNoInputSource = 4 };

constexpr REFIID IID_IUnknown{{0, 0, 0, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0x46}};
constexpr REFIID IID_IDeckLinkInput{{1}};
constexpr REFIID IID_IDeckLinkInputCallback{{2}};
constexpr REFIID IID_IDeckLinkVideoBuffer{{3}};
constexpr REFIID IID_IDeckLinkVideoBufferAllocator{{4}};
constexpr REFIID IID_IDeckLinkVideoBufferAllocatorProvider{{5}};

class IUnknown {
public:
  virtual HRESULT QueryInterface(REFIID iid, LPVOID* ppv) = 0;
  virtual ULONG AddRef() = 0;
  virtual ULONG Release() = 0;

protected:
  ~IUnknown() = default;
};

class IDeckLinkVideoBuffer : public IUnknown {
public:
  virtual HRESULT GetBytes(void** buffer) = 0;
  virtual HRESULT GetSize(uint64_t* bufferSize) = 0;
  virtual HRESULT StartAccess(BMDBufferAccessFlags flags) = 0;
  virtual HRESULT EndAccess(BMDBufferAccessFlags flags) = 0;

protected:
  virtual ~IDeckLinkVideoBuffer() = default;
};

class IDeckLinkVideoBufferAllocator : public IUnknown {
public:
  virtual HRESULT AllocateVideoBuffer(IDeckLinkVideoBuffer** allocatedBuffer) = 0;

protected:
  virtual ~IDeckLinkVideoBufferAllocator() = default;
};

class IDeckLinkVideoBufferAllocatorProvider : public IUnknown {
public:
  virtual HRESULT GetVideoBufferAllocator(uint32_t bufferSize, uint32_t width, uint32_t height,
                                          uint32_t rowBytes, BMDPixelFormat pixelFormat,
                                          IDeckLinkVideoBufferAllocator** allocator) = 0;

protected:
  virtual ~IDeckLinkVideoBufferAllocatorProvider() = default;
};

class IDeckLinkVideoFrame : public IUnknown {
public:
  virtual long GetHeight() = 0;
  virtual long GetRowBytes() = 0;
  virtual BMDFrameFlags GetFlags() = 0;

protected:
  virtual ~IDeckLinkVideoFrame() = default;
};

class IDeckLinkVideoInputFrame : public IDeckLinkVideoFrame {
public:
  virtual HRESULT GetStreamTime(BMDTimeValue* frameTime, BMDTimeValue* frameDuration,
                                BMDTimeScale timeScale) = 0;
};

class IDeckLinkAudioInputPacket;
class IDeckLinkDisplayMode;

class IDeckLinkInputCallback : public IUnknown {
public:
  virtual HRESULT VideoInputFormatChanged(BMDVideoInputFormatChangedEvents events, IDeckLinkDisplayMode* mode,
                                          BMDDetectedVideoInputFormatFlags flags) = 0;
  virtual HRESULT VideoInputFrameArrived(IDeckLinkVideoInputFrame* videoFrame,
                                         IDeckLinkAudioInputPacket* audioPacket) = 0;

protected:
  virtual ~IDeckLinkInputCallback() = default;
};

class IDeckLinkInput : public IUnknown {
public:
  virtual HRESULT
  EnableVideoInputWithAllocatorProvider(BMDDisplayMode displayMode, BMDPixelFormat pixelFormat,
                                        BMDVideoInputFlags flags,
                                        IDeckLinkVideoBufferAllocatorProvider* allocatorProvider) = 0;
  virtual HRESULT DisableVideoInput() = 0;
  virtual HRESULT StartStreams() = 0;
  virtual HRESULT StopStreams() = 0;
  virtual HRESULT SetCallback(IDeckLinkInputCallback* theCallback) = 0;

protected:
  virtual ~IDeckLinkInput() = default;
};

class IDeckLink : public IUnknown {
protected:
  virtual ~IDeckLink() = default;
};

class IDeckLinkIterator : public IUnknown {
public:
  virtual HRESULT Next(IDeckLink** deckLinkInstance) = 0;

protected:
  virtual ~IDeckLinkIterator() = default;
};

IDeckLinkIterator* CreateDeckLinkIteratorInstance();
