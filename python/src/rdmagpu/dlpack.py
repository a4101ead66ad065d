"""Capsules of DLPack. The tensors in them are made, and deleted, by the C library: on any thread, at any time."""
from __future__ import annotations

import ctypes
import enum
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any


class DeviceType(enum.IntEnum):
    CPU = 1
    CUDA = 2
    CUDA_HOST = 3  #: Host memory that CUDA's driver has pinned.


VERSIONED = 1
READ_ONLY = 2
_FLAG_COPIED = 2

_NAME = b"dltensor"
_NAME_VERSIONED = b"dltensor_versioned"


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("manager_ctx", c_void_p), ("deleter", c_void_p),
        ("flags", c_uint64), ("dl_tensor", DLTensor),
    ]


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, c_void_p)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_in = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, _DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi)
)


@_DESTRUCTOR  # type: ignore[misc]
def _delete_unused(
    capsule: int,
    is_valid: Any = _is_valid,
    pointer_in: Any = _pointer_in,
    deleter: Any = _DELETER,
    kinds: Any = ((_NAME, DLManagedTensor.deleter.offset), (_NAME_VERSIONED, DLManagedTensorVersioned.deleter.offset)),
    address_at: Any = c_void_p.from_address,
) -> None:
    """Deletes the tensor that no consumer took: one who does renames the capsule. The capsule is a bare address here,
    since its last reference is gone; and no global is named, for they may be, too, when the interpreter ends."""
    for name, offset in kinds:
        if is_valid(capsule, name):
            managed = pointer_in(capsule, name)
            deleter(address_at(managed + offset).value)(managed)


ctypes.pythonapi.Py_IncRef(ctypes.py_object(_delete_unused))  # capsules may outlive this module


def capsule_of(managed: int, versioned: bool) -> object:
    """Takes the tensor over."""
    return _new(managed, _NAME_VERSIONED if versioned else _NAME, _delete_unused)


def mark_copied(managed: int) -> None:
    DLManagedTensorVersioned.from_address(managed).flags |= _FLAG_COPIED


def check_stream(stream: Any, device_type: int) -> int | None:
    """The rules of the Array API standard: None, -1 (do not wait), 1 (the legacy default stream), 2 (the thread's),
    or a stream's address. 0 could be either default, and is none."""
    if stream is None:
        return None
    if device_type != DeviceType.CUDA:
        raise ValueError("stream must be None for memory of the CPU")
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"stream must be an int or None, not {type(stream).__name__}")
    if stream == 0 or stream < -1:
        raise ValueError(f"stream must be -1, 1, 2 or a stream's address; it is {stream}")
    return stream
