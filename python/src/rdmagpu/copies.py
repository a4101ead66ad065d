"""Copies into and out of slots that go on by themselves."""
from __future__ import annotations

import ctypes
import operator
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Union

from . import _structs, config
from ._bytes import Held
from ._handle import Handle, Part
from ._library import lib
from .errors import ClosedError, call

if TYPE_CHECKING:
    from .slot import Slot

SlotOrIndex = Union["Slot", int]


def index_of(slot: SlotOrIndex) -> int:
    index = operator.index(slot if isinstance(slot, int) else slot.index)
    if not 0 <= index < 2**32:
        raise ValueError(f"no slot has the number {index}")
    return index


class Copy:
    """A copy that was begun. Dropping it ends nothing: its queue keeps the caller's bytes until it is over."""

    def __init__(self, queue: Handle, held: Held) -> None:
        self._queue = queue
        self._held = held
        self._release = lib.rdmagpu_copy_release
        self.c = _structs.Copy()

    def done(self) -> bool:
        """Never blocks."""
        return bool(lib.rdmagpu_copy_done(ctypes.byref(self.c)))

    def wait(self) -> None:
        """Until it is over; raises what it failed with."""
        call(lib.rdmagpu_copy_wait, ctypes.byref(self.c))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a copy that was begun is one object, and cannot be copied or pickled")

    def __del__(self) -> None:
        if hasattr(self, "c"):
            self._release(ctypes.byref(self.c))


class CopyQueue:
    """Of a buffer; Buffer.copy_queue() makes it. Any thread may use it."""

    def __init__(self, buffer: Handle | Part, streams: int, depth: int, cuda_stream: int | None) -> None:
        c = _structs.CopyQueueOptions(
            streams=streams, depth=depth, on_stream=int(cuda_stream is not None), cuda_stream=cuda_stream or None
        )
        made = Handle(lib.rdmagpu_copy_queue_create, lib.rdmagpu_copy_queue_destroy, buffer, ctypes.byref(c))
        self._handle: Handle | None = made
        self._lock = threading.Lock()
        self._under_way: list[Copy] = []

    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ClosedError("the copy queue is closed")
        return handle

    def _begin(self, function: Any, slot: SlotOrIndex, held: Held, offset: int) -> Copy:
        handle = self._open()
        copy = Copy(handle, held)
        at = config.unsigned("offset", offset, 64)
        call(function, handle, index_of(slot), at, held.address, held.size, ctypes.byref(copy.c))
        self._keep(copy)
        return copy

    def _keep(self, *begun: Copy) -> None:
        with self._lock:
            self._under_way = [copy for copy in (*self._under_way, *begun) if not copy.done()]

    def upload(self, slot: SlotOrIndex, data: Any, offset: int = 0) -> Copy:
        """Begins a copy into a slot. `data` must not be changed until it is over."""
        return self._begin(lib.rdmagpu_copy_queue_upload, slot, Held(data), offset)

    def download(self, slot: SlotOrIndex, into: Any, offset: int = 0) -> Copy:
        """Begins a copy out of a slot. `into` must not be touched until it is over."""
        return self._begin(lib.rdmagpu_copy_queue_download, slot, Held(into, writable=True), offset)

    def finish(self) -> None:
        """Waits until all copies are over, and raises the first failure since the last time."""
        call(lib.rdmagpu_copy_queue_finish, self._open())
        self._keep()

    def close(self) -> None:
        """Waits until all copies are over."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with self._lock:
                for copy in self._under_way:
                    lib.rdmagpu_copy_wait(ctypes.byref(copy.c), None)
                self._under_way.clear()

    def __enter__(self) -> CopyQueue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()
