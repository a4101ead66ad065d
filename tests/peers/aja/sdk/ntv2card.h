#pragma once

/* A stand-in for the header of AJA's NTV2 SDK: its published names, as far as the tests and examples use
   them. */

typedef unsigned int ULWord;
typedef unsigned short UWord;
typedef enum { NTV2_CHANNEL1 } NTV2Channel;

class CNTV2Card {
public:
  virtual ~CNTV2Card();
  virtual bool Open(const UWord inDeviceIndex);
  virtual bool Close();
  virtual bool DMABufferLock(const ULWord* pInBuffer, const ULWord inByteCount, bool inMap = false,
                             bool inRDMA = false);
  virtual bool DMABufferUnlock(const ULWord* pInBuffer, const ULWord inByteCount);
  virtual bool DMAReadFrame(const ULWord inFrameNumber, ULWord* pOutFrameBuffer, const ULWord inByteCount);
  virtual bool DMAWriteFrame(const ULWord inFrameNumber, const ULWord* pInFrameBuffer,
                             const ULWord inByteCount);
  virtual bool WaitForInputVerticalInterrupt(const NTV2Channel inChannel = NTV2_CHANNEL1,
                                             UWord inRepeatCount = 1);
  virtual bool GetInputFrame(const NTV2Channel inChannel, ULWord& outValue);
};
