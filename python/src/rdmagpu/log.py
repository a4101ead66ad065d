"""What the library cannot return."""
from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from . import _structs
from ._library import lib
from .errors import Failure, reason_of

LEVELS = ("info", "warning", "failure")

#: Level, text, and the failure that it is about.
Sink = Callable[[str, str, "Failure | None"], None]

_sinks: list[Any] = []  # for good: a thread may still be in one that was replaced


def set_log_sink(sink: Sink | None) -> None:
    """Replaces the sink of the whole process; None restores silence. Any thread may call it: it must not raise, nor
    call the library."""
    if sink is None:
        lib.rdmagpu_set_log_sink(None, None)
        return
    wanted = sink

    def deliver(_: Any, level: int, text: bytes, error: Any) -> None:
        name = LEVELS[level] if 0 <= level < len(LEVELS) else "failure"
        wanted(name, text.decode(errors="replace"), reason_of(error.contents) if error else None)

    callback = _structs.LOG_SINK(deliver)
    _sinks.append(callback)
    lib.rdmagpu_set_log_sink(callback, None)


atexit.register(set_log_sink, None)
