"""The memory behind an object of the buffer protocol, held while C uses it."""
from __future__ import annotations

import ctypes
from typing import Any


class _PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_get.restype = ctypes.c_int
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = [ctypes.POINTER(_PyBuffer)]
_release.restype = None

_WRITABLE = 1


class Held:
    """Contiguous bytes, which neither move nor go while this lives. Raises TypeError or BufferError for others."""

    def __init__(self, source: Any, writable: bool = False) -> None:
        self._view = _PyBuffer()
        _get(source, ctypes.byref(self._view), _WRITABLE if writable else 0)
        self._release = _release  # globals may be gone when the interpreter ends

    @property
    def address(self) -> int:
        return self._view.buf or 0

    @property
    def size(self) -> int:
        return int(self._view.len)

    def __del__(self) -> None:
        if self._view.obj:
            self._release(ctypes.byref(self._view))
