"""What to allocate, as the C interface wants it."""
from __future__ import annotations

import ctypes
import operator
import uuid
from collections.abc import Iterable
from typing import Union

from . import _structs
from ._library import lib
from .pci import PciAddress

#: Which GPU: its ordinal, its PCI address (as text, too), or its UUID.
Gpu = Union[int, str, PciAddress, uuid.UUID]

PAGE_LOCK = ("try", "require", "off")
HUGE_PAGES = ("off", "try", "require")
GPU_PIN = ("off", "try", "require")
CUDA_MEMORY = ("auto", "vmm", "mem-alloc")
PCIE_MAPPING = ("off", "try", "require")
RDMA = ("require", "try", "off")
HANDOFFS = (
    "none", "host-pointer", "cuda-pointer", "vulkan-remote-address", "nvapi-rdma-address", "hip-pointer",
    "level-zero-pointer", "pci-mapping", "dma-buf",
)


def number_of(option: str, value: str, values: tuple[str, ...]) -> int:
    if value not in values:
        raise ValueError(f"{option} must be one of {', '.join(values)}, and is {value!r}")
    return values.index(value)


def api_number(name: str) -> int:
    number = ctypes.c_int32()
    if not isinstance(name, str):
        raise TypeError(f"an api is named by a str, not by {name!r}")
    if "\0" in name or not lib.rdmagpu_api_named(name.encode(), ctypes.byref(number)):
        raise ValueError(f"no api is named {name!r}; rdmagpu.backends() lists those of this library")
    return number.value


def unsigned(option: str, value: int, bits: int) -> int:
    """ctypes would cut a number that is too large, without a word."""
    number = operator.index(value)
    if not 0 <= number < 2**bits:
        raise ValueError(f"{option} must be 0 or more, and below 2**{bits}; it is {value}")
    return number


def selector(gpu: Gpu | None) -> _structs.GpuSelector:
    c = _structs.GpuSelector()
    if isinstance(gpu, str):
        gpu = PciAddress.parse(gpu)
    if isinstance(gpu, PciAddress):
        c.named, c.pci = 2, gpu.to_c()
    elif isinstance(gpu, uuid.UUID):
        c.named = 4
        c.uuid[:] = list(gpu.bytes)
    elif gpu is not None:
        c.named, c.ordinal = 1, unsigned("gpu", gpu, 31)
    return c


def pci_of(address: str | PciAddress) -> PciAddress:
    return PciAddress.parse(address) if isinstance(address, str) else address


def flags(
    zero_fill: bool, scrub_on_destroy: bool, ignore_budget: bool, forbid_memfd: bool, numa_node: int | None
) -> int:
    bits = (zero_fill, scrub_on_destroy, ignore_budget, forbid_memfd, numa_node is not None)
    return sum(bool(bit) << i for i, bit in enumerate(bits))


def accepted(handoffs: Iterable[str]) -> int:
    return sum(1 << number for number in {number_of("accepts", name, HANDOFFS) for name in handoffs})
