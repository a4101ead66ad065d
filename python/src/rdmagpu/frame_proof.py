"""Canaries in slots that tell what a peer did not write."""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from . import _structs, config
from ._handle import Handle
from ._library import lib, text
from .copies import SlotOrIndex, index_of
from .errors import call

if TYPE_CHECKING:
    from .buffer import Buffer
    from .ring import Ring

_ON_FAULT = ("report", "drop")


@dataclasses.dataclass(frozen=True)
class FrameFinding:
    """One look at a slot."""

    fault: str  #: "none", "stale", "torn", "late", "wrong-offset", "short", or "unchecked".
    offset: int  #: In the slot, of the first byte that tells.

    def __bool__(self) -> bool:
        """A fault was found."""
        return self.fault != "none"


@dataclasses.dataclass(frozen=True)
class FrameProofCounters:
    """Each but the first counts faults."""

    checked: int
    stale: int
    torn: int
    late: int
    wrong_offset: int
    short_frames: int
    unchecked: int


def fault_name(fault: int) -> str:
    return text(lib.rdmagpu_frame_fault_name(fault))


def counters_of(c: _structs.FrameProofCounters) -> FrameProofCounters:
    return FrameProofCounters(c.checked, c.stale, c.torn, c.late, c.wrong_offset, c.short_frames, c.unchecked)


def proof_config(on_fault: int, seed: int, partial_frames: bool) -> _structs.FrameProofConfig:
    return _structs.FrameProofConfig(on_fault=on_fault, seed=seed, partial_frames=int(partial_frames))


class FrameProof:
    """Lays canaries into every slot of a buffer, none of which may be with a peer, and holds the memory.

    Ring(proof=) proves every frame by itself; arm() and check() are for who has no ring, and belong to whoever holds
    the slot.
    """

    def __init__(
        self, buffer: Buffer, *, on_fault: str = "report", seed: int = 0, partial_frames: bool = False
    ) -> None:
        """`on_fault`: what a ring does with a frame that is faulty, "report" or "drop". `partial_frames`: frames may be
        shorter than frame_bytes."""
        c = proof_config(
            config.number_of("on_fault", on_fault, _ON_FAULT), config.unsigned("seed", seed, 64), partial_frames
        )
        self._frame_bytes = buffer.frame_bytes
        self._ring: Callable[[], Ring | None] = lambda: None
        self.handle = Handle(
            lib.rdmagpu_frame_proof_create, lib.rdmagpu_frame_proof_destroy, buffer.handle, ctypes.byref(c)
        )  #: For the other modules of the package.

    @contextlib.contextmanager
    def claimed(self, ring: Ring) -> Iterator[None]:
        """For one ring, as long as that is there, once the block has made it."""
        if self._ring() is not None:
            raise ValueError("the proof is in use by another ring")
        yield
        self._ring = weakref.ref(ring)

    def __len__(self) -> int:
        return int(lib.rdmagpu_frame_proof_slot_count(self.handle))

    def _index(self, slot: SlotOrIndex) -> int:
        index = index_of(slot)
        if index >= len(self):
            raise IndexError(f"slot {index} of a proof of {len(self)}")
        return index

    def arm(self, slot: SlotOrIndex) -> FrameFinding:
        """Before a slot goes to the peer: lays canaries, and tells of bytes that came late."""
        found = lib.rdmagpu_frame_proof_arm(self.handle, self._index(slot))
        return FrameFinding(fault_name(found.fault), found.offset)

    def check(self, slot: SlotOrIndex, nbytes: int | None = None) -> FrameFinding:
        """Once the peer says that a frame of so many bytes is there; by default a whole one."""
        size = self._frame_bytes if nbytes is None else config.unsigned("nbytes", nbytes, 64)
        found = lib.rdmagpu_frame_proof_check(self.handle, self._index(slot), size)
        return FrameFinding(fault_name(found.fault), found.offset)

    @property
    def counters(self) -> FrameProofCounters:
        c = _structs.FrameProofCounters()
        call(lib.rdmagpu_frame_proof_counters_of, self.handle, ctypes.byref(c))
        return counters_of(c)
