"""What memory is that somebody else allocated."""
from __future__ import annotations

import ctypes
import dataclasses
import math
from typing import Any

from . import _structs, config
from ._bytes import Held
from ._library import lib, text
from .errors import call
from .facts import answer
from .pci import PciAddress


@dataclasses.dataclass(frozen=True)
class GpuMemory:
    """What a GPU's driver says of memory that it knows, whoever allocated it."""

    api: str
    ordinal: int
    pci: PciAddress | None
    allocation: int  #: Where the allocation starts that the range lies in.
    allocation_bytes: int
    mapping_bytes: int
    rdma_capable: bool | None
    exportable: bool | None
    sync_memops: bool | None


@dataclasses.dataclass(frozen=True)
class Memory:
    kind: str  #: "private", "memfd", "gpu", "gpu-virtual", "pinned-host", ...
    peer_usable: bool | None  #: Whether a peer's driver can pin it; None: only trying would tell.
    why: str  #: The reason for that answer, in a sentence.
    page_bytes: int
    resident_bytes: int
    locked_bytes: int
    readable: bool
    writable: bool
    aligned_64k: bool
    copied_on_fork: bool
    gpu: GpuMemory | None  #: None: no GPU's driver knows the range.


def _range_of(interface: dict[str, Any]) -> tuple[int, int]:
    itemsize = int(interface["typestr"][2:])
    shape, strides = interface["shape"], interface.get("strides")
    if strides is None:
        return interface["data"][0], math.prod(shape) * itemsize
    if 0 in shape:
        return interface["data"][0], 0
    # Of strides that are negative the data begins before the first element.
    reaches = [(length - 1) * stride for length, stride in zip(shape, strides)]
    low, high = (sum(pick(reach, 0) for reach in reaches) for pick in (min, max))
    return interface["data"][0] + low, high - low + itemsize


def _of_object(what: Any) -> tuple[int, int, Any]:
    """Address, size, and what holds the memory meanwhile."""
    for name in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(what, name, None)
        if interface is not None:
            return (*_range_of(interface), what)
    held = Held(what)
    return held.address, held.size, held


def inspect(what: Any, nbytes: int | None = None) -> Memory:
    """Looks at memory without touching it: at an address (the CPU's, or a CUdeviceptr) with its size, or at an object
    that has __cuda_array_interface__ or __array_interface__, or is of the buffer protocol."""
    if isinstance(what, int):
        if nbytes is None:
            raise TypeError("an address needs nbytes")
        address, size, holder = config.unsigned("the address", what, 64), nbytes, None
    else:
        address, size, holder = _of_object(what)
        size = size if nbytes is None else nbytes
    size = config.unsigned("nbytes", size, 64)
    c, why = _structs.MemoryFacts(), ctypes.create_string_buffer(1000)
    call(lib.rdmagpu_inspect, address, size, ctypes.byref(c), why, len(why))
    del holder
    return Memory(
        kind=text(lib.rdmagpu_memory_kind_name(c.kind)),
        peer_usable=answer(c.peer_usable),
        why=why.value.decode(errors="replace"),
        page_bytes=c.page_bytes,
        resident_bytes=c.resident_bytes,
        locked_bytes=c.locked_bytes,
        readable=bool(c.readable),
        writable=bool(c.writable),
        aligned_64k=bool(c.aligned_64k),
        copied_on_fork=bool(c.copied_on_fork),
        gpu=_gpu(c) if c.gpu else None,
    )


def _gpu(c: _structs.MemoryFacts) -> GpuMemory:
    return GpuMemory(
        api=text(lib.rdmagpu_api_name(c.gpu_api)),
        ordinal=c.gpu_ordinal,
        pci=PciAddress.of(c.gpu_pci),
        allocation=c.gpu_allocation,
        allocation_bytes=c.gpu_allocation_bytes,
        mapping_bytes=c.gpu_mapping_bytes,
        rdma_capable=answer(c.gpu_rdma_capable),
        exportable=answer(c.gpu_exportable),
        sync_memops=answer(c.gpu_sync_memops),
    )
