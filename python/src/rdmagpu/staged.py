"""Slots through which a peer and an application exchange frames, on whatever path there is between them."""
from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any

from . import _structs, config
from ._handle import Handle, Part
from ._library import lib, text
from .buffer import Buffer, config_of
from .copies import SlotOrIndex, index_of
from .errors import ClosedError, Failure, call, reason_of
from .frame_proof import FrameProofCounters, counters_of, proof_config
from .ring import Ring
from .slot import Handoff, memory_of

_PATHS = ("any", "direct", "staged")


class StagedBuffer:
    """One set of slots that both sides use where the peer reaches the application's memory; else slot i twice, and a
    thread that copies between the two. The ring is used in the same way on both paths.

    close(), or the end of a `with` block, closes the ring and ends the thread. What shows the memory keeps it.
    """

    def __init__(
        self,
        api: str = "auto",
        *,
        flow: str = "capture",
        policy: str = "fifo",
        path: str = "any",
        prove: str | None = None,
        companion_bytes: int = 0,
        slice_bytes: int = 0,
        **buffer: Any,
    ) -> None:
        """`flow`: "capture", where the peer fills slots, or "playout". `path`: "any", "direct", or "staged". `prove`:
        what becomes of a frame that a FrameProof finds faulty, "report", "drop" or "fail-over"; None: nobody looks.
        `companion_bytes`: host memory beside each slot. The others are those of Buffer, for the application's slots."""
        application = config_of(api, **buffer)
        c = _structs.StagedConfig(
            flow=config.number_of("flow", flow, ("capture", "playout")),
            policy=config.number_of("policy", policy, ("fifo", "newest")),
            path=config.number_of("path", path, _PATHS),
            buffer=ctypes.pointer(application),
            companion_bytes=config.unsigned("companion_bytes", companion_bytes, 64),
            slice_bytes=config.unsigned("slice_bytes", slice_bytes, 64),
        )
        if prove is not None:
            number = config.number_of("prove", prove, ("report", "drop", "fail-over"))
            c.proof = ctypes.pointer(proof_config(number, 0, False))
        made = Handle(lib.rdmagpu_staged_create, lib.rdmagpu_staged_destroy, ctypes.byref(c))
        self._handle: Handle | None = made
        self._path = self._facts().path
        self.ring = Ring._of(Part(made, lib.rdmagpu_staged_ring(made)))
        self.application = Buffer._of(Part(made, lib.rdmagpu_staged_application(made)))  #: The application's slots.
        self.peer = Buffer._of(Part(made, lib.rdmagpu_staged_peer(made)))  #: Those that the peer was given first.

    @property
    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ClosedError("the staged buffer is closed")
        return handle

    def _facts(self) -> _structs.StagedFacts:
        c = _structs.StagedFacts()
        call(lib.rdmagpu_staged_facts_of, self._open, ctypes.byref(c))
        return c

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Waits until no copy is under way, and no completion is asked any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.rdmagpu_staged_close(handle)
            self.application.close()
            self.peer.close()

    def __enter__(self) -> StagedBuffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.application)

    def __repr__(self) -> str:
        made = text(lib.rdmagpu_slot_path_name(self._path))
        return f"<rdmagpu.StagedBuffer {made}, {self.application!r}>"

    @property
    def path(self) -> str:
        """Of the slots that the peer's side acquires now: "direct" or "staged"."""
        return text(lib.rdmagpu_slot_path_name(lib.rdmagpu_staged_path(self._open)))

    @property
    def slice_bytes(self) -> int:
        """The least of a frame that is published in part that is copied at once; 0 on a direct path."""
        return int(self._facts().slice_bytes)

    def _told(self, function: Any) -> Failure | None:
        reason = _structs.Error()
        call(function, self._open, ctypes.byref(reason))
        return reason_of(reason)

    @property
    def reason(self) -> Failure | None:
        """Why the path is not direct."""
        return self._told(lib.rdmagpu_staged_reason)

    @property
    def failure(self) -> Failure | None:
        """Why copying has ended; None while it goes on."""
        return self._told(lib.rdmagpu_staged_failure)

    @property
    def proof_counters(self) -> FrameProofCounters | None:
        """None without a proof."""
        c = _structs.FrameProofCounters()
        return counters_of(c) if lib.rdmagpu_staged_proof_counters(self._open, ctypes.byref(c)) else None

    def handoff(self, slot: SlotOrIndex) -> Handoff:
        """What the peer's SDK wants for a slot that its side has acquired, this time."""
        kind, value = ctypes.c_int32(), ctypes.c_uint64()
        call(lib.rdmagpu_staged_handoff, self._open, index_of(slot), ctypes.byref(kind), ctypes.byref(value))
        return Handoff(text(lib.rdmagpu_handoff_name(kind.value)), value.value)

    def companion(self, slot: SlotOrIndex) -> memoryview:
        """Host memory that goes with a slot and changes hands with it; empty where none was asked for."""
        handle, size = self._open, ctypes.c_uint64()
        address = lib.rdmagpu_staged_companion(handle, index_of(slot), ctypes.byref(size))
        return memory_of(handle, address, size.value) if address and size.value else memoryview(b"")
