"""Proves that bytes really move."""
from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _structs, config
from ._handle import Handle
from ._library import lib, text
from .errors import Error, Failure, Kind, call, reason_of
from .facts import Proof, answer, proof_of

if TYPE_CHECKING:
    from .buffer import Buffer

AGENTS = ("none", "cpu", "copy-engine", "software", "device")


class Peer:
    """A device that can be told to write or read one slot, from its start. Derive from it.

    What a method raises is the transfer's failure; NotImplementedError: this peer cannot, and nothing was tried. The
    bytes are the caller's memory, for the time of the call.
    """

    name = "peer"
    agent = "software"  #: Who moves the bytes: "cpu", "copy-engine", "software", or "device".

    def write(self, slot: int, data: memoryview) -> None:
        """Makes the peer write `data` to the slot, and returns when it has."""
        raise NotImplementedError

    def read(self, slot: int, into: memoryview) -> None:
        """Makes the peer read from the slot."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class VerifyFailure:
    """A slot that did not hold, or the peer did not get, what was sent."""

    slot: int
    direction: str  #: "write": the peer was to; or "read".
    offset: int  #: The first byte that is wrong.
    wrong_bytes: int
    untouched: bool  #: Nothing arrived at all, although the peer reported success.
    cause: Failure | None  #: The transfer itself failed, and nothing was compared.


@dataclasses.dataclass(frozen=True)
class Report:
    peer: str
    slots: int
    write: bool | None  #: Peer to memory; None: not tried.
    read: bool | None  #: Memory to peer.
    write_reason: Failure | None  #: Of the first transfer that itself failed, or why none was tried.
    read_reason: Failure | None
    failures: tuple[VerifyFailure, ...]
    proof: Proof

    @property
    def ok(self) -> bool:
        """Bytes moved in each direction that was tried, and in one at least."""
        return not self.failures and False not in (self.write, self.read) and (self.write or self.read) is True


def _transfer(method: Callable[[int, memoryview], None], read_only: bool, raised: list[BaseException]) -> Any:
    def run(_: Any, slot: int, data: int, size: int, error: Any) -> int:
        try:
            view = memoryview((ctypes.c_ubyte * size).from_address(data)).cast("B")
            method(slot, view.toreadonly() if read_only else view)
            return Kind.NONE
        except NotImplementedError:
            return Kind.UNSUPPORTED
        except Error as failure:
            error.contents.code = failure.code
            return failure.kind if failure.kind != Kind.UNSUPPORTED else Kind.INTERNAL
        except Exception as failure:
            raised.append(failure)
            error.contents.code = failure.errno or 0 if isinstance(failure, OSError) else 0
            return Kind.INTERNAL
        except BaseException as failure:  # such as KeyboardInterrupt: verify() raises it again
            raised.insert(0, failure)
            return Kind.INTERNAL

    return _structs.TRANSFER(run)


def _failures(report: Handle, count: int) -> tuple[VerifyFailure, ...]:
    found = []
    for index in range(count):
        c, cause = _structs.VerifyFailure(), _structs.Error()
        lib.rdmagpu_report_failure(report, index, ctypes.byref(c), ctypes.byref(cause))
        direction = "read" if c.read else "write"
        found.append(
            VerifyFailure(c.slot, direction, c.offset, c.wrong_bytes, bool(c.untouched), reason_of(cause))
        )
    return tuple(found)


def _reason(report: Handle, read: bool) -> Failure | None:
    reason = _structs.Error()
    call(lib.rdmagpu_report_reason, report, read, ctypes.byref(reason))
    return reason_of(reason)


def _report(report: Handle) -> Report:
    c, proof = _structs.ReportFacts(), _structs.Proof()
    call(lib.rdmagpu_report_facts_of, report, ctypes.byref(c))
    call(lib.rdmagpu_report_proof, report, ctypes.byref(proof))
    return Report(
        peer=text(c.peer),
        slots=c.slots,
        write=answer(c.write),
        read=answer(c.read),
        write_reason=_reason(report, False),
        read_reason=_reason(report, True),
        failures=_failures(report, c.failure_count),
        proof=proof_of(proof),
    )


def verify(buffer: Buffer, peer: Peer | None = None, *, nbytes: int = 0, seed: int = 1) -> Report:
    """Proves that bytes really move, slot by slot and each direction by itself. Overwrites the slots.

    Without a peer, a software peer proves the library's own plumbing. `nbytes` is of each slot; 0: the whole slot.
    """
    handle = buffer.handle
    options = _structs.VerifyOptions(bytes=nbytes, seed=seed)
    raised: list[BaseException] = []
    pointer = None
    if peer is not None:
        name = ctypes.create_string_buffer(peer.name.encode())
        c = _structs.Peer(
            agent=config.number_of("agent", peer.agent, AGENTS),
            name=ctypes.cast(name, ctypes.c_char_p),
            write=_transfer(peer.write, True, raised),
            read=_transfer(peer.read, False, raised),
        )
        pointer = ctypes.byref(c)
    made = Handle(
        lib.rdmagpu_verify, lib.rdmagpu_report_destroy, handle, pointer, ctypes.byref(options)
    )
    if raised and not isinstance(raised[0], Exception):
        raise raised[0]
    return _report(made)
