"""Memory that another device reads and writes by DMA: slots of host or GPU memory for capture cards, NICs and FPGAs.

    with rdmagpu.Buffer(api="auto", slots=8, frame_bytes=1920 * 1080 * 2) as buffer:
        frame = numpy.asarray(buffer[0].view((1080, 1920, 2)))
"""
from __future__ import annotations

from ._library import LibraryNotFoundError, path as library_path
from ._library import lib as _lib, text as _text
from .buffer import Buffer, checksum, max_slots
from .copies import Copy, CopyQueue
from .diagnosis import Diagnosis, Explanation, Finding, MachineDevice, Pair, diagnose, explain
from .dlpack import DeviceType
from .errors import (
    BusyError, ClosedError, Error, Failure, InternalError, InvalidArgumentError, Kind, LostError, NotFoundError,
    NotPermittedError, OutOfMemoryError, TooOldError, UnsupportedError,
)
from .exports import DmaBuf, Shared
from .facts import Backend, Device, Facts, Proof, Rejected, backends
from .frame_proof import FrameFinding, FrameProof, FrameProofCounters
from .inspection import GpuMemory, Memory, inspect
from .log import set_log_sink
from .pci import PciAddress
from .ring import Claim, Counters, Frame, Ring, RingClosed, RingError, RingMisuse, RingTimeout
from .slot import Handoff, Slot
from .staged import StagedBuffer
from .tensor import View
from .verify import Peer, Report, VerifyFailure, verify

#: Of the library that is loaded.
__version__ = _text(_lib.rdmagpu_version())

__all__ = [
    "Backend", "Buffer", "BusyError", "Claim", "ClosedError", "Copy", "CopyQueue", "Counters", "Device",
    "DeviceType", "Diagnosis", "DmaBuf", "Error", "Explanation", "Facts", "Failure", "Finding", "Frame",
    "FrameFinding", "FrameProof", "FrameProofCounters", "GpuMemory", "Handoff", "InternalError",
    "InvalidArgumentError", "Kind", "LibraryNotFoundError", "LostError", "MachineDevice", "Memory", "NotFoundError",
    "NotPermittedError", "OutOfMemoryError", "Pair", "PciAddress", "Peer", "Proof", "Rejected", "Report", "Ring",
    "RingClosed", "RingError", "RingMisuse", "RingTimeout", "Shared", "Slot", "StagedBuffer", "TooOldError", "UnsupportedError",
    "VerifyFailure", "View", "backends", "checksum", "diagnose", "explain", "inspect", "library_path", "max_slots",
    "set_log_sink", "verify",
]
