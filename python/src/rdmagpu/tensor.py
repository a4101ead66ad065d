"""A slot as an array for other libraries: DLPack, and the interfaces of NumPy's and CUDA's arrays."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _cuda, _structs, dlpack
from ._library import lib
from .dlpack import DeviceType
from .dtypes import dtype_of
from .errors import InvalidArgumentError, UnsupportedError, call

if TYPE_CHECKING:
    from .slot import Slot


def _shape_of(wanted: Sequence[int] | int | None, itemsize: int, frame_bytes: int) -> tuple[int, ...]:
    shape = (-1,) if wanted is None else (wanted,) if isinstance(wanted, int) else tuple(wanted)
    if shape.count(-1) > 1 or any(length < -1 for length in shape):
        raise ValueError(f"lengths are 0 or more, and one may be -1: {shape}")
    if -1 not in shape:
        return shape
    rest = math.prod(length for length in shape if length != -1) * itemsize
    if rest == 0 or frame_bytes % rest != 0:
        raise ValueError(f"a frame of {frame_bytes} bytes is no whole number of {shape} of {itemsize} bytes each")
    return tuple(frame_bytes // rest if length == -1 else length for length in shape)


def _strides_of(wanted: Sequence[int] | None, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if wanted is None:
        return tuple(itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))
    strides = tuple(wanted)
    if len(strides) != len(shape) or any(stride < 0 or stride % itemsize != 0 for stride in strides):
        raise ValueError(f"strides are bytes, whole elements of {itemsize}, one for each of {shape}: {strides}")
    return strides


class View:
    """Made by Slot.view(). Holds the memory: it lives on after Buffer.close(), until the last view or tensor goes."""

    def __init__(
        self,
        slot: Slot,
        shape: Sequence[int] | int | None,
        dtype: Any,
        strides: Sequence[int] | None,
        offset: int,
        read_only: bool,
        stream: int | None,
    ) -> None:
        self._handle = slot.buffer.handle
        self._slot = slot
        self._dl_device = slot.buffer.dl_device if slot.handoff.value else None
        self._dtype = dtype_of(dtype)
        if offset < 0:
            raise ValueError(f"offset must be 0 or more; it is {offset}")
        self.shape = _shape_of(shape, self._dtype.itemsize, max(slot.nbytes - offset, 0))
        self.strides = _strides_of(strides, self.shape, self._dtype.itemsize)
        self.offset = offset
        self.read_only = read_only
        reach = sum((length - 1) * stride for length, stride in zip(self.shape, self.strides))
        #: From the first byte to the last.
        self.nbytes = 0 if 0 in self.shape else reach + self._dtype.itemsize
        if offset + self.nbytes > slot.size:
            raise ValueError(f"{offset + self.nbytes} bytes are more than the slot's {slot.size}")
        if self._dl_device and self._dl_device[0] != DeviceType.CUDA and stream is not None:
            raise ValueError("stream is for slots in a GPU's memory")
        if stream is not None and stream <= 0:
            raise ValueError(f"stream must be 1, 2 or a stream's address; it is {stream}")
        self.stream = stream

    @property
    def dtype(self) -> str:
        return self._dtype.name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<rdmagpu.View of slot {self._slot.index}, {self.shape} of {self.dtype}>"

    @property
    def address(self) -> int:
        """Of the first element: the CPU's, or a CUdeviceptr. 0 where the slot has none."""
        return self._slot.handoff.value + self.offset if self._slot.handoff.value else 0

    def __dlpack_device__(self) -> tuple[int, int]:
        if self._dl_device is None:
            raise BufferError("the slot has no address: export it as a dma-buf")
        return self._dl_device

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule "dltensor", or "dltensor_versioned" where max_version is 1.0 or later.

        The tensor keeps the memory alive. It is copied with copy=True, and where a GPU's slot is wanted on the CPU:
        both into host memory.
        """
        device = self.__dlpack_device__()
        consumer = dlpack.check_stream(stream, device[0])
        if self.stream is not None and consumer != -1 and consumer != self.stream:
            _cuda.synchronize(self.stream)
        wanted = (int(dl_device[0]), int(dl_device[1])) if dl_device is not None else device
        versioned = max_version is not None and max_version[0] >= 1
        if self.read_only and not versioned:
            raise BufferError("the view is read only, which DLPack can say from version 1.0 on: ask for max_version")
        on_cpu = wanted == (DeviceType.CPU, 0)
        if wanted != device and not (on_cpu and device[0] in (DeviceType.CUDA, DeviceType.CUDA_HOST)):
            raise BufferError(f"the slot is on DLPack's device {device}, not on {wanted}")
        if copy or (wanted != device and device[0] == DeviceType.CUDA):
            return self._copied(copy, wanted, versioned)
        return dlpack.capsule_of(self._managed(versioned, wanted[0]), versioned)

    def _copied(self, copy: bool | None, device: tuple[int, int], versioned: bool) -> object:
        if copy is False:
            raise BufferError("a slot in a GPU's memory must be copied for the CPU, and copy is False")
        if device[0] == DeviceType.CUDA:
            raise BufferError("a copy in the GPU's memory is the consumer's to make")
        from .buffer import Buffer  # which knows this module

        with Buffer("host", slots=1, frame_bytes=max(self.nbytes, 1), page_lock="off") as host:
            if self.nbytes:
                self._download(host[0].memory)
            twin = host[0].view(self.shape, self.dtype, strides=self.strides, read_only=self.read_only)
            managed = twin._managed(versioned, DeviceType.CPU)
        if versioned:
            dlpack.mark_copied(managed)
        return dlpack.capsule_of(managed, versioned)

    def _download(self, into: memoryview) -> None:
        to = (ctypes.c_ubyte * len(into)).from_buffer(into)
        call(lib.rdmagpu_buffer_download, self._handle, self._slot.index, self.offset, to, self.nbytes)

    def _managed(self, versioned: bool, device_type: int) -> int:
        each = ctypes.c_int64 * self.ndim
        itemsize = self._dtype.itemsize
        c = _structs.Tensor(
            slot=self._slot.index,
            offset=self.offset,
            shape=each(*self.shape),
            strides=each(*(stride // itemsize for stride in self.strides)),
            dimensions=self.ndim,
            type_code=self._dtype.code,
            type_bits=self._dtype.bits,
            type_lanes=1,
            flags=versioned * dlpack.VERSIONED | self.read_only * dlpack.READ_ONLY,
            device_type=device_type,
        )
        made = ctypes.c_void_p()
        try:
            call(lib.rdmagpu_buffer_dlpack, self._handle, ctypes.byref(c), ctypes.byref(made))
        except (InvalidArgumentError, UnsupportedError) as error:
            raise BufferError(str(error)) from error
        return made.value or 0

    def _interface(self) -> dict[str, Any]:
        if not self._dtype.letter:
            raise AttributeError(f"{self.dtype} has no type string: use DLPack")
        dense = self.strides == _strides_of(None, self.shape, self._dtype.itemsize)
        return {
            "shape": self.shape,
            "typestr": self._dtype.typestr,
            "data": (self.address, self.read_only),
            "strides": None if dense else self.strides,
            "version": 3,
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3. Without a stream nobody has to wait: what this package copies by itself is over by then."""
        if self._slot.handoff.kind != "cuda-pointer":
            raise AttributeError("the slot is not in a GPU's memory")
        return {**self._interface(), "stream": self.stream}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._slot.handoff.kind not in ("host-pointer", "pci-mapping"):
            raise AttributeError("the CPU cannot address this slot")
        return self._interface()

    @property
    def memory(self) -> memoryview:
        """The view's bytes, where the CPU can address them: from its first byte to its last."""
        from .slot import memory_of  # which knows this module

        if self._slot.handoff.kind not in ("host-pointer", "pci-mapping"):
            raise TypeError(f"the CPU cannot address this slot: its handoff is a {self._slot.handoff.kind}")
        bytes_ = memory_of(self._handle, self.address, self.nbytes)
        return bytes_.toreadonly() if self.read_only else bytes_

    def __buffer__(self, flags: int) -> memoryview:
        return self.memory
