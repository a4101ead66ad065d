"""One slot of a buffer."""
from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _structs, config
from ._bytes import Held
from ._handle import Handle
from ._library import lib, text
from .errors import call
from .exports import DmaBuf
from .tensor import View

if TYPE_CHECKING:
    from .buffer import Buffer


@dataclasses.dataclass(frozen=True)
class Handoff:
    """What a peer's SDK wants for a slot: no address without its kind."""

    kind: str  #: "host-pointer", "cuda-pointer", "pci-mapping", "dma-buf", ...
    value: int  #: 0 where the peer wants a dma-buf.


class Slot:
    """Knows its buffer and its number, and holds the buffer; the memory itself is shown by memory, view() and tensors."""

    def __init__(self, buffer: Buffer, index: int) -> None:
        self.buffer = buffer
        self.index = index
        c = _structs.Slot()
        call(lib.rdmagpu_buffer_slot, buffer.handle, index, ctypes.byref(c))
        self.handoff = Handoff(text(lib.rdmagpu_handoff_name(c.handoff_kind)), c.handoff)
        self.nbytes = buffer.frame_bytes  #: Of a frame, as was asked for.
        self.size: int = c.size  #: Bytes usable: nbytes rounded up.
        self.offset: int = c.offset  #: Within its region, and so within the descriptor of Buffer.export().

    def __repr__(self) -> str:
        return f"<rdmagpu.Slot {self.index}, {self.handoff.kind}, {self.nbytes} bytes>"

    @property
    def cpu_address(self) -> int:
        """Where the CPU reads and writes the slot."""
        if self.handoff.kind not in ("host-pointer", "pci-mapping"):
            raise TypeError(f"the CPU cannot address this slot: its handoff is a {self.handoff.kind}")
        return self.handoff.value

    @property
    def cuda_pointer(self) -> int:
        """A CUdeviceptr."""
        if self.handoff.kind != "cuda-pointer":
            raise TypeError(f"the slot is not in a GPU's memory: its handoff is a {self.handoff.kind}")
        return self.handoff.value

    @property
    def memory(self) -> memoryview:
        """The frame's bytes, to read and to write, where the CPU can address them."""
        return memory_of(self.buffer.handle, self.cpu_address, self.nbytes)

    def __buffer__(self, flags: int) -> memoryview:
        return self.memory

    def view(
        self,
        shape: Sequence[int] | int | None = None,
        dtype: Any = "uint8",
        *,
        strides: Sequence[int] | None = None,
        offset: int = 0,
        read_only: bool = False,
        stream: int | None = None,
    ) -> View:
        """The slot as an array, such as (1080, 1920, 2) of "uint8"; no byte is copied.

        One length may be -1: what is left of the frame. `dtype` is a name or a dtype of NumPy, PyTorch, CuPy or JAX.
        `strides` are bytes, as NumPy's: for lines that are padded. `stream` is the CUDA stream on which work on the
        slot was begun (1: the legacy default, 2: the thread's default): consumers on others wait for it.
        """
        return View(self, shape, dtype, strides, offset, read_only, stream)

    def __dlpack__(self, **arguments: Any) -> object:
        return self.view().__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.buffer.dl_device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.view().__cuda_array_interface__

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.view().__array_interface__

    def upload(self, data: Any, offset: int = 0) -> None:
        """Copies into the slot, from any bytes that the CPU reads; returns when done."""
        held = Held(data)
        at = config.unsigned("offset", offset, 64)
        call(lib.rdmagpu_buffer_upload, self.buffer.handle, self.index, at, held.address, held.size)

    def download(self, into: Any, offset: int = 0) -> None:
        """Copies out of the slot, as many bytes as `into` has; returns when done."""
        held = Held(into, writable=True)
        at = config.unsigned("offset", offset, 64)
        call(lib.rdmagpu_buffer_download, self.buffer.handle, self.index, at, held.address, held.size)

    def tobytes(self) -> bytes:
        """The frame, copied."""
        frame = bytearray(self.nbytes)
        self.download(frame)
        return bytes(frame)

    def checksum(self, nbytes: int | None = None, offset: int = 0) -> int:
        """Computed where the slot lies; rdmagpu.checksum() computes the same on the CPU."""
        found = ctypes.c_uint64()
        size = self.nbytes - offset if nbytes is None else nbytes
        if not (0 <= size < 2**64 and 0 <= offset < 2**64):
            raise ValueError("offset and nbytes must be 0 or more, and within the frame")
        call(lib.rdmagpu_buffer_checksum, self.buffer.handle, self.index, offset, size, ctypes.byref(found))
        return found.value

    def poison(self, seed: int = 1) -> None:
        """Fills the slot with what tells later which bytes a peer did not write."""
        call(lib.rdmagpu_buffer_poison, self.buffer.handle, self.index, config.unsigned("seed", seed, 64))

    def clear(self) -> None:
        """Fills the slot with zeros."""
        call(lib.rdmagpu_buffer_clear, self.buffer.handle, self.index)

    def export(self) -> DmaBuf:
        """A dma-buf that reaches this slot and nothing else."""
        made = Handle(
            lib.rdmagpu_buffer_export_slot, lib.rdmagpu_dma_buf_destroy, self.buffer.handle, self.index
        )
        return DmaBuf(made)


def memory_of(owner: object, address: int, size: int) -> memoryview:
    """Bytes at an address, which hold `owner`."""
    array = (ctypes.c_ubyte * size).from_address(address)
    array._owner = owner  # type: ignore[attr-defined]
    return memoryview(array).cast("B")
