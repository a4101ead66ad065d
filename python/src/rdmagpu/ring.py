"""The hand-over of slots between one producer and one consumer."""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Union

from . import _structs, config
from ._handle import Handle, Part
from ._library import lib, text
from .copies import Copy, SlotOrIndex, index_of
from .errors import call
from .frame_proof import FrameProof, fault_name

#: When the work on a slot is done: a copy that was begun, or a function that returns true once it is, such as
#: torch.cuda.Event().query. It must not block, or call the ring.
Completion = Union[Copy, Callable[[], object]]

_OK, _EMPTY, _CLOSED, _MISUSE = range(4)
_SLICE = 0.1  # seconds that a wait stays in C: signals are handled between


class RingError(Exception):
    """A call on a ring moved no slot."""


class RingTimeout(RingError, TimeoutError):
    """Nothing was to be had in that time: no free slot, or no frame."""


class RingClosed(RingError):
    """A side has ended. The consumer learns of the producer's end when every frame was taken."""


class RingMisuse(RingError, ValueError):
    """The slot is not this caller's to give: out of range, or in another state. Nothing changed."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """A frame that was taken."""

    slot: int
    sequence: int  #: A gap is a loss.
    timestamp: int  #: The producer's.
    bytes: int
    bytes_ready: int
    fault: str = "none"  #: What the ring's proof has found; see FrameProof.


@dataclasses.dataclass
class Claim:
    """A slot that was acquired; what is set here is what Ring.acquired() publishes."""

    slot: int
    timestamp: int = 0
    bytes: int = 0
    after: Completion | None = None


@dataclasses.dataclass(frozen=True)
class Counters:
    published: int
    taken: int
    drops: int
    underruns: int


def _raise(status: int) -> None:
    if status == _OK:
        return
    if status == _EMPTY:
        raise RingTimeout("nothing was to be had in that time")
    if status == _CLOSED:
        raise RingClosed("the ring is closed")
    if status == _MISUSE:
        raise RingMisuse("the slot is not this caller's to give: it is out of range, or in another state")
    raise RingError(text(lib.rdmagpu_ring_status_name(status)))


def _wait(step: Callable[[int], int], timeout: float | None) -> None:
    """Waits in slices, so that Ctrl-C is heard."""
    if timeout is not None and math.isnan(timeout):
        raise ValueError("a timeout must be a number")
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _SLICE if end is None else min(_SLICE, end - time.monotonic())
        status = step(max(int(left * 1e9), 0))
        if status != _EMPTY or (end is not None and time.monotonic() >= end):
            return _raise(status)


class Ring:
    """N slots, by number: the ring touches no memory of theirs. A slot goes acquire, publish, take, release.

    The producer's calls are for one thread at a time, the consumer's too; the two sides need no further lock. Timeouts
    are seconds; None waits without limit, and 0 not at all. What cannot be had is a RingTimeout.
    """

    def __init__(self, slots: int, policy: str = "fifo", *, proof: FrameProof | None = None) -> None:
        """`policy` is "fifo": every frame, in order; or "newest": older ones are dropped. `proof` proves every frame;
        it has as many slots at least, and is for one ring at a time."""
        number = config.number_of("policy", policy, ("fifo", "newest"))
        count = config.unsigned("slots", slots, 32)
        self._handle: Handle | Part
        if proof is None:
            self._handle = Handle(lib.rdmagpu_ring_create, lib.rdmagpu_ring_destroy, count, number)
        else:
            with proof.claimed(self):
                self._handle = Handle(
                    lib.rdmagpu_ring_create_proven, lib.rdmagpu_ring_destroy, count, number, proof.handle
                )
        self._begin()

    def _begin(self) -> None:
        self._held: dict[tuple[str, int], Any] = {}  # completions, until the next one of that slot and side
        self._failures: list[BaseException] = []

    @classmethod
    def _of(cls, part: Part) -> Ring:
        made = cls.__new__(cls)
        made._handle = part
        made._begin()
        part.owner.kept = made._held  # its thread asks them as long as it is there
        return made

    def _completion(self, side: str, slot: int, after: Completion | None) -> tuple[Any, Any]:
        if after is None:
            return _structs.Completion(), None
        if isinstance(after, Copy):
            return lib.rdmagpu_copy_completion(ctypes.byref(after.c)), after
        function, failures = after, self._failures

        def done(_: int | None) -> bool:
            try:
                return bool(function())
            except BaseException as error:  # raised again by the side that asks next
                failures.append(error)
                return True

        callback = _structs.DONE(done)
        return _structs.Completion(None, ctypes.cast(callback, ctypes.c_void_p)), callback

    def _hand_over(self, side: str, slot: int, after: Completion | None, function: Any, *rest: Any) -> None:
        completion, held = self._completion(side, slot, after)
        before = self._held.get((side, slot))
        self._held[side, slot] = (before, held)  # the one before may be asked until this call has changed hands
        status = function(self._handle, slot, *rest, completion)
        self._held[side, slot] = held if status == _OK else before
        _raise(status)

    def _raise_failures(self) -> None:
        if self._failures:
            raise self._failures.pop(0)

    # The producer's side.

    def acquire(self, timeout: float | None = None) -> int:
        """Takes a free slot to write to."""
        slot = ctypes.c_uint32()
        _wait(lambda left: int(lib.rdmagpu_ring_acquire(self._handle, ctypes.byref(slot), left)), timeout)
        self._raise_after(lambda: self.abandon(slot.value))
        return slot.value

    def _raise_after(self, undo: Callable[[], None]) -> None:
        if self._failures:
            undo()
            self._raise_failures()

    def abandon(self, slot: SlotOrIndex) -> None:
        """Gives a slot that was acquired back unused."""
        _raise(lib.rdmagpu_ring_abandon(self._handle, index_of(slot)))

    def publish(
        self,
        slot: SlotOrIndex,
        *,
        timestamp: int = 0,
        nbytes: int = 0,
        ready: int | None = None,
        after: Completion | None = None,
    ) -> None:
        """Hands a frame over. With `ready` below `nbytes` the rest follows through advance()."""
        size = config.unsigned("nbytes", nbytes, 64)
        have = size if ready is None else config.unsigned("ready", ready, 64)
        if not -(2**63) <= timestamp < 2**63:
            raise ValueError(f"timestamp must fit 64 bits; it is {timestamp}")
        self._hand_over("publish", index_of(slot), after, lib.rdmagpu_ring_publish, timestamp, size, have)

    def advance(self, slot: SlotOrIndex, ready: int) -> None:
        """Says that the first bytes of a frame that was published in part can be read now."""
        _raise(lib.rdmagpu_ring_advance(self._handle, index_of(slot), config.unsigned("ready", ready, 64)))

    @contextlib.contextmanager
    def acquired(self, timeout: float | None = None) -> Iterator[Claim]:
        """A slot for the block, which is published at its end, and abandoned if the block raises."""
        claim = Claim(self.acquire(timeout))
        try:
            yield claim
        except BaseException:
            self.abandon(claim.slot)
            raise
        try:
            self.publish(claim.slot, timestamp=claim.timestamp, nbytes=claim.bytes, after=claim.after)
        except RingClosed:
            self.abandon(claim.slot)
            raise

    def count_drop(self) -> None:
        """Counts a frame that was lost for want of a slot."""
        lib.rdmagpu_ring_count_drop(self._handle)

    def close_producer(self) -> None:
        """No more frames will come. Any thread may call it."""
        lib.rdmagpu_ring_close_producer(self._handle)

    # The consumer's side.

    def take(self, timeout: float | None = None) -> Frame:
        """Takes the next frame, or the newest, as the policy says."""
        c = _structs.Frame()
        _wait(lambda left: int(lib.rdmagpu_ring_take(self._handle, ctypes.byref(c), left)), timeout)
        self._raise_after(lambda: self.release(c.slot))
        return Frame(c.slot, c.sequence, c.timestamp, c.bytes, c.bytes_ready, fault_name(c.fault))

    def release(self, slot: SlotOrIndex | Frame, after: Completion | None = None) -> None:
        """Gives a slot back. It goes to the producer once `after` is done."""
        number = slot.slot if isinstance(slot, Frame) else index_of(slot)
        self._hand_over("release", number, after, lib.rdmagpu_ring_release)

    @contextlib.contextmanager
    def taken(self, timeout: float | None = None) -> Iterator[Frame]:
        """A frame for the block, which is released at its end."""
        frame = self.take(timeout)
        try:
            yield frame
        finally:
            self.release(frame)

    def frames(self, timeout: float | None = None) -> Iterator[Frame]:
        """Each frame until the ring is closed; one is released when the next is asked for."""
        while True:
            try:
                frame = self.take(timeout)
            except RingClosed:
                return
            try:
                yield frame
            finally:
                self.release(frame)

    def bytes_ready(self, slot: SlotOrIndex) -> int:
        return int(lib.rdmagpu_ring_bytes_ready(self._handle, index_of(slot)))

    def wait_bytes(self, slot: SlotOrIndex, nbytes: int, timeout: float | None = None) -> None:
        """Waits until so many bytes of a frame that was taken can be read."""
        index, size = index_of(slot), config.unsigned("nbytes", nbytes, 64)
        _wait(lambda left: int(lib.rdmagpu_ring_wait_bytes(self._handle, index, size, left)), timeout)

    def fault(self, slot: SlotOrIndex) -> str:
        """What the proof has found of a frame that was taken; "none" before it is whole."""
        return fault_name(lib.rdmagpu_ring_fault(self._handle, index_of(slot)))

    def count_underrun(self) -> None:
        """Counts a moment at which the consumer needed a frame and there was none."""
        lib.rdmagpu_ring_count_underrun(self._handle)

    def close_consumer(self) -> None:
        """No more frames are wanted. Any thread may call it."""
        lib.rdmagpu_ring_close_consumer(self._handle)

    # Both sides.

    def notify(self) -> None:
        """Wakes whoever waits, so that completions are asked again."""
        lib.rdmagpu_ring_notify(self._handle)

    @property
    def counters(self) -> Counters:
        c = _structs.RingCounters()
        call(lib.rdmagpu_ring_counters_of, self._handle, ctypes.byref(c))
        return Counters(c.published, c.taken, c.drops, c.underruns)
