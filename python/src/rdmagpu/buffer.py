"""N equal slots of memory that a peer reads and writes by DMA."""
from __future__ import annotations

import ctypes
import socket
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from . import _structs, config
from ._bytes import Held
from ._handle import Handle
from ._library import lib
from .copies import CopyQueue
from .errors import ClosedError, call
from .exports import DmaBuf, Shared
from .facts import Facts, Proof, facts_of, proof_of
from .pci import PciAddress
from .slot import Slot


class Buffer:
    """Allocates every slot or none.

    close(), or the end of a `with` block, gives up this object's share of the memory: no call on the buffer or on its
    slots is possible after it. What still shows the memory (a memoryview, a view, a tensor made of one, an export)
    keeps it, and the last of them frees it. It does not wait for DMA: stop the peer first.
    """

    def __init__(
        self,
        api: str = "auto",
        *,
        slots: int,
        frame_bytes: int,
        cuda_device: int = 0,
        gpu: config.Gpu | None = None,
        peer: str | PciAddress | None = None,
        accepts: Iterable[str] = (),
        zero_fill: bool = False,
        scrub_on_destroy: bool = False,
        ignore_budget: bool = False,
        page_lock: str = "try",
        huge_pages: str = "off",
        numa_node: int | None = None,
        forbid_memfd: bool = False,
        gpu_pin: str = "off",
        cuda_memory: str = "auto",
        pcie_mapping: str = "off",
        rdma: str = "require",
    ) -> None:
        """`gpu` names the GPU by ordinal, PCI address or UUID; `peer` says where the card is, so that the GPU or NUMA
        node nearest to it is taken; `accepts` names the handoffs that its SDK takes (nothing: any address). The
        other options are those of RdmaGpuBufferConfig, in C++."""
        c = _structs.Config(
            api=config.api_number(api),
            slot_count=config.unsigned("slots", slots, 32),
            frame_bytes=config.unsigned("frame_bytes", frame_bytes, 64),
            cuda_device=cuda_device,
            gpu=config.selector(gpu),
            accepts=config.accepted(accepts),
            flags=config.flags(zero_fill, scrub_on_destroy, ignore_budget, forbid_memfd, numa_node),
            page_lock=config.number_of("page_lock", page_lock, config.PAGE_LOCK),
            huge_pages=config.number_of("huge_pages", huge_pages, config.HUGE_PAGES),
            numa_node=numa_node or 0,
            gpu_pin=config.number_of("gpu_pin", gpu_pin, config.GPU_PIN),
            cuda_memory=config.number_of("cuda_memory", cuda_memory, config.CUDA_MEMORY),
            pcie_mapping=config.number_of("pcie_mapping", pcie_mapping, config.PCIE_MAPPING),
            rdma=config.number_of("rdma", rdma, config.RDMA),
        )
        if peer is not None:
            c.peer = config.pci_of(peer).to_c()
        self._take(Handle(lib.rdmagpu_buffer_create, lib.rdmagpu_buffer_destroy, ctypes.byref(c)))

    def _take(self, handle: Handle) -> None:
        self._handle: Handle | None = handle
        self._facts = facts_of(handle)
        self._dl_device: tuple[int, int] | None = None

    @classmethod
    def _of(cls, handle: Handle) -> Buffer:
        made = cls.__new__(cls)
        made._take(handle)
        return made

    @classmethod
    def attach(cls, source: socket.socket | str) -> Buffer:
        """Maps what another process has sent through a Unix-domain socket, or what this one inherited with a token."""
        if isinstance(source, str):
            create, argument = lib.rdmagpu_buffer_attach_token, source.encode()
            return cls._of(Handle(create, lib.rdmagpu_buffer_destroy, argument))
        return cls._of(Handle(lib.rdmagpu_buffer_attach_socket, lib.rdmagpu_buffer_destroy, source.fileno()))

    @property
    def handle(self) -> Handle:
        """What C calls the buffer; for the other modules of the package."""
        handle = self._handle
        if handle is None:
            raise ClosedError("the buffer is closed")
        return handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        self._handle = None

    def __enter__(self) -> Buffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._facts.slot_count

    def __getitem__(self, index: int) -> Slot:
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"slot {index} of a buffer of {len(self)}")
        return Slot(self, at)

    def __iter__(self) -> Iterator[Slot]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<rdmagpu.Buffer {self._facts.api}, {len(self)} slots of {self._facts.frame_bytes} bytes{state}>"

    @property
    def facts(self) -> Facts:
        """What was really got. Also of a buffer that is closed."""
        return self._facts

    @property
    def proof(self) -> Proof:
        c = _structs.Proof()
        call(lib.rdmagpu_buffer_proof, self.handle, ctypes.byref(c))
        return proof_of(c)

    @property
    def frame_bytes(self) -> int:
        return self._facts.frame_bytes

    @property
    def dl_device(self) -> tuple[int, int]:
        """DLPack's device type and number."""
        if self._dl_device is None:
            kind, number = ctypes.c_int32(), ctypes.c_int32()
            call(lib.rdmagpu_buffer_dlpack_device, self.handle, ctypes.byref(kind), ctypes.byref(number))
            self._dl_device = (kind.value, number.value)
        return self._dl_device

    def flush_peer_writes(self) -> None:
        """Makes what a peer wrote visible to the consumer; needed where facts.writes_need_flush, and after
        grant_access()."""
        call(lib.rdmagpu_buffer_flush_peer_writes, self.handle)

    def grant_access(self, gpu: config.Gpu) -> None:
        """Lets another GPU use the slots, at the same addresses."""
        call(lib.rdmagpu_buffer_grant_access, self.handle, ctypes.byref(config.selector(gpu)))

    def export(self) -> DmaBuf:
        """One dma-buf for all slots."""
        return DmaBuf(Handle(lib.rdmagpu_buffer_export_region, lib.rdmagpu_dma_buf_destroy, self.handle))

    def share(self) -> Shared:
        """For another process: see Buffer.attach()."""
        return Shared(Handle(lib.rdmagpu_buffer_share, lib.rdmagpu_shared_destroy, self.handle))

    def copy_queue(self, *, streams: int = 0, depth: int = 0, cuda_stream: int | None = None) -> CopyQueue:
        """Copies that go on by themselves: on streams of its own (0: the library's choice), or on the caller's."""
        return CopyQueue(self.handle, streams, depth, cuda_stream)


def max_slots(frame_bytes: int, api: str = "host", *, gpu: config.Gpu | None = None) -> int:
    """How many slots of that size fit the memory that is free now."""
    c = _structs.Config(
        api=config.api_number(api), slot_count=1, gpu=config.selector(gpu),
        frame_bytes=config.unsigned("frame_bytes", frame_bytes, 64),
    )
    most = ctypes.c_uint32()
    call(lib.rdmagpu_max_slots, ctypes.byref(c), ctypes.byref(most))
    return most.value


def checksum(data: Any) -> int:
    """Of bytes that the CPU reads, the number that Slot.checksum() computes where a slot lies."""
    held = Held(data)
    return int(lib.rdmagpu_checksum(held.address, held.size))
