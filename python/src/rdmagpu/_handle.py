"""An object of the C interface: destroyed when nobody holds it any more, a call that is under way included."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NoReturn

from .errors import call


class Handle:
    """Pass the handle itself to C, not the pointer in it: the arguments of a call hold it until the call is over."""

    def __init__(self, create: Callable[..., int], destroy: Callable[[Any], None], *arguments: Any) -> None:
        self.kept: Any = None  #: What C uses until it is destroyed.
        self._destroy = destroy
        self._as_parameter_ = ctypes.c_void_p()
        call(create, *arguments, ctypes.byref(self._as_parameter_))

    def __reduce__(self) -> NoReturn:
        raise TypeError("an object of the library cannot be copied or pickled")

    def __del__(self) -> None:
        if getattr(self, "_as_parameter_", None):
            self._destroy(self._as_parameter_)


class Part:
    """An object of C that is part of another one, which it holds."""

    def __init__(self, owner: Handle, address: int) -> None:
        self.owner = owner
        self._as_parameter_ = ctypes.c_void_p(address)
