"""What there is: backends, devices, and what a buffer really is."""
from __future__ import annotations

import ctypes
import dataclasses

from . import _structs
from ._handle import Handle, Part
from ._library import lib, text
from .errors import Failure, call, reason_of
from .pci import PciAddress

_UNLIMITED_64 = 2**64 - 1
_UNLIMITED_32 = 2**32 - 1


def answer(number: int) -> bool | None:
    """None: it was not asked."""
    return {1: False, 2: True}.get(number)


@dataclasses.dataclass(frozen=True)
class Rejected:
    """A backend that api="auto" has tried before the one it took."""

    api: str
    why: Failure


@dataclasses.dataclass(frozen=True)
class Proof:
    """How far memory has been proven usable by a peer; None: not tried."""

    allocated: bool | None
    capable: bool | None
    exported: bool | None
    registered: bool | None
    written: bool | None
    read: bool | None
    by: str  #: Who moved the bytes: "none", "cpu", "copy-engine", "software", "device".


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a buffer is, as system and driver reported it; None: unknown."""

    api: str
    device: str  #: The GPU's name; for host memory the machine's.
    pci: PciAddress | None
    slot_count: int
    frame_bytes: int
    requested_bytes: int
    committed_bytes: int
    slot_stride: int
    region_count: int
    page_bytes: int
    huge_page_bytes: int
    resident_bytes: int
    locked_bytes: int
    lock_reason: Failure | None  #: Why pages are not locked.
    pinned_by: str
    pin_reason: Failure | None  #: Why no GPU's driver has pinned them.
    numa_node: int | None
    memfd: bool
    bar1_bytes: int
    bar1_free_bytes: int | None  #: None: it cannot run out before the memory does.
    bar1_slots: int | None
    direct_for_gpu: bool | None
    rdma_capable: bool | None
    cuda_memory: str
    cuda_memory_reason: Failure | None
    sync_memops: bool | None
    sync_memops_reason: Failure | None
    writes_need_flush: bool
    tolerated: tuple[Failure, ...]  #: Failures that the creation survived.
    rejected: tuple[Rejected, ...]


def _reason(buffer: Handle | Part, what: int) -> Failure | None:
    reason = _structs.Error()
    call(lib.rdmagpu_buffer_reason, buffer, what, ctypes.byref(reason))
    return reason_of(reason)


def _tolerated(buffer: Handle | Part) -> tuple[Failure, ...]:
    found = []
    for index in range(lib.rdmagpu_buffer_tolerated_count(buffer)):
        error = _structs.Error()
        lib.rdmagpu_buffer_tolerated(buffer, index, ctypes.byref(error))
        found.append(reason_of(error))
    return tuple(failure for failure in found if failure)


def _rejected(buffer: Handle | Part) -> tuple[Rejected, ...]:
    found = []
    for index in range(lib.rdmagpu_buffer_rejected_count(buffer)):
        api, error = ctypes.c_int32(), _structs.Error()
        lib.rdmagpu_buffer_rejected(buffer, index, ctypes.byref(api), ctypes.byref(error))
        why = reason_of(error)
        if why:
            found.append(Rejected(text(lib.rdmagpu_api_name(api.value)), why))
    return tuple(found)


def facts_of(buffer: Handle | Part) -> Facts:
    c = _structs.Facts()
    call(lib.rdmagpu_buffer_facts, buffer, ctypes.byref(c))
    return Facts(
        api=text(lib.rdmagpu_api_name(c.api)),
        device=text(c.device),
        pci=PciAddress.of(c.pci),
        slot_count=c.slot_count,
        frame_bytes=c.frame_bytes,
        requested_bytes=c.requested_bytes,
        committed_bytes=c.committed_bytes,
        slot_stride=c.slot_stride,
        region_count=c.region_count,
        page_bytes=c.page_bytes,
        huge_page_bytes=c.huge_page_bytes,
        resident_bytes=c.resident_bytes,
        locked_bytes=c.locked_bytes,
        lock_reason=_reason(buffer, 0),
        pinned_by=text(lib.rdmagpu_pinned_by_name(c.pinned_by)),
        pin_reason=_reason(buffer, 1),
        numa_node=c.numa_node if c.numa_node >= 0 else None,
        memfd=bool(c.memfd),
        bar1_bytes=c.bar1_bytes,
        bar1_free_bytes=c.bar1_free_bytes if c.bar1_free_bytes != _UNLIMITED_64 else None,
        bar1_slots=c.bar1_slots if c.bar1_slots != _UNLIMITED_32 else None,
        direct_for_gpu=answer(c.direct_for_gpu),
        rdma_capable=answer(c.rdma_capable),
        cuda_memory=text(lib.rdmagpu_cuda_memory_name(c.cuda_memory)),
        cuda_memory_reason=_reason(buffer, 2),
        sync_memops=answer(c.sync_memops),
        sync_memops_reason=_reason(buffer, 3),
        writes_need_flush=bool(c.writes_need_flush),
        tolerated=_tolerated(buffer),
        rejected=_rejected(buffer),
    )


def proof_of(c: _structs.Proof) -> Proof:
    steps = ("allocated", "capable", "exported", "registered", "written", "read")
    return Proof(**{step: answer(getattr(c, step)) for step in steps}, by=text(lib.rdmagpu_agent_name(c.by)))


@dataclasses.dataclass(frozen=True)
class Device:
    name: str
    pci: PciAddress | None
    rdma_capable: bool | None


@dataclasses.dataclass(frozen=True)
class Backend:
    """What this build can allocate with, and what it finds on this machine."""

    api: str
    available: bool
    reason: Failure | None  #: Why it is not available.
    devices: tuple[Device, ...]


def _devices(backends: Handle, index: int, count: int) -> tuple[Device, ...]:
    found = []
    for device in range(count):
        info = _structs.DeviceInfo()
        lib.rdmagpu_backends_device(backends, index, device, ctypes.byref(info))
        found.append(Device(text(info.name), PciAddress.of(info.pci), answer(info.rdma_capable)))
    return tuple(found)


def backends() -> list[Backend]:
    """The backends of the library, in the order in which api="auto" prefers them."""
    handle = Handle(lib.rdmagpu_backends_create, lib.rdmagpu_backends_destroy)
    found = []
    for index in range(lib.rdmagpu_backends_count(handle)):
        info, error = _structs.BackendInfo(), _structs.Error()
        lib.rdmagpu_backends_get(handle, index, ctypes.byref(info), ctypes.byref(error))
        api = text(lib.rdmagpu_api_name(info.api))
        found.append(Backend(api, bool(info.available), reason_of(error), _devices(handle, index, info.device_count)))
    return found
