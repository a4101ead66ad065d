"""Failures: what the library says of one, and the exceptions that carry it."""
from __future__ import annotations

import ctypes
import dataclasses
import enum
import uuid
from collections.abc import Callable
from typing import Any

from . import _structs
from ._library import lib, text
from .pci import PciAddress


class Kind(enum.IntEnum):
    """What a program can do about a failure. Branch on this, never on the code."""

    NONE = 0
    INVALID_ARGUMENT = 1
    NOT_FOUND = 2
    UNSUPPORTED = 3
    TOO_OLD = 4
    PERMISSION = 5
    OUT_OF_MEMORY = 6
    BUSY = 7
    LOST = 8
    INTERNAL = 9


@dataclasses.dataclass(frozen=True)
class Failure:
    """One failure. As the reason for a fact it is no exception: the creation survived it."""

    kind: Kind
    origin: str  #: Whose code it is: "Library", "Os", "Cuda", ...
    call: str  #: The call that failed, as its vendor spells it.
    code: int  #: The component's own; errno for "Os".
    code_name: str  #: The vendor's name for the code, or "".
    finding: str  #: The doctor's id for this kind of failure.
    message: str  #: One line: what failed, the rule it broke, and the numbers.
    hints: tuple[str, ...]  #: What to do about it, most likely cause first.
    bytes: int = 0  #: The size or count that was asked for, when the call had one.
    available: int = 0  #: What there was, or the limit, when that is known.
    device: int | None = None
    slot: int | None = None
    pci: PciAddress | None = None
    uuid: uuid.UUID | None = None

    def __str__(self) -> str:
        return self.message


class Error(Exception):
    """A call of the library failed. Each kind has a class of its own, such as OutOfMemoryError."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        return "\n".join([self.failure.message, *(f"  hint: {hint}" for hint in self.failure.hints)])

    @property
    def kind(self) -> Kind:
        return self.failure.kind

    @property
    def origin(self) -> str:
        return self.failure.origin

    @property
    def call(self) -> str:
        return self.failure.call

    @property
    def code(self) -> int:
        return self.failure.code

    @property
    def code_name(self) -> str:
        return self.failure.code_name

    @property
    def finding(self) -> str:
        return self.failure.finding

    @property
    def hints(self) -> tuple[str, ...]:
        return self.failure.hints


class InvalidArgumentError(Error, ValueError):
    """The request could not succeed on any machine."""


class NotFoundError(Error, LookupError):
    """No such driver, device or file on this machine."""


class UnsupportedError(Error):
    """Present, but cannot do this."""


class TooOldError(UnsupportedError):
    """Present, and a newer version could do this."""


class NotPermittedError(Error):
    """The operating system refused."""


class OutOfMemoryError(Error, MemoryError):
    """VRAM, BAR space, address space or host memory is used up."""


class BusyError(Error):
    """May work later."""


class LostError(Error):
    """Device or driver is gone until the process restarts."""


class InternalError(Error):
    """A bug in the library, or a driver's answer that it does not know."""


class ClosedError(ValueError):
    """The object was closed."""


CLASSES: dict[Kind, type[Error]] = {
    Kind.INVALID_ARGUMENT: InvalidArgumentError,
    Kind.NOT_FOUND: NotFoundError,
    Kind.UNSUPPORTED: UnsupportedError,
    Kind.TOO_OLD: TooOldError,
    Kind.PERMISSION: NotPermittedError,
    Kind.OUT_OF_MEMORY: OutOfMemoryError,
    Kind.BUSY: BusyError,
    Kind.LOST: LostError,
    Kind.INTERNAL: InternalError,
}


def message_of(error: _structs.Error) -> str:
    size = lib.rdmagpu_error_message(error, None, 0) + 1
    message = ctypes.create_string_buffer(size)
    lib.rdmagpu_error_message(error, message, size)
    return message.value.decode(errors="replace")


def failure_of(error: _structs.Error) -> Failure:
    hints = (lib.rdmagpu_error_hint(error, i) for i in range(lib.rdmagpu_error_hint_count(error)))
    return Failure(
        kind=Kind(error.kind) if error.kind in iter(Kind) else Kind.INTERNAL,
        origin=text(lib.rdmagpu_origin_name(error.origin)),
        call=text(error.call or b""),
        code=error.code,
        code_name=text(error.code_name or b""),
        finding=text(error.finding or b""),
        message=message_of(error),
        hints=tuple(text(hint) for hint in hints),
        bytes=error.bytes,
        available=error.available,
        device=error.device if error.device >= 0 else None,
        slot=error.slot if error.slot >= 0 else None,
        pci=PciAddress.of(error.pci),
        uuid=uuid.UUID(bytes=bytes(error.uuid)) if error.has_uuid else None,
    )


def reason_of(error: _structs.Error) -> Failure | None:
    """What a reason says; None where there is nothing to explain."""
    return failure_of(error) if error.kind else None


def exception_of(error: _structs.Error) -> Error:
    failure = failure_of(error)
    return CLASSES.get(failure.kind, InternalError)(failure)


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function whose last parameter is the error, and raises what it tells."""
    error = _structs.Error()
    if function(*arguments, ctypes.byref(error)) != 0:
        raise exception_of(error)
