"""The structs of the C interface. tests/test_headers.py compares them with the headers."""
from __future__ import annotations

import ctypes
import operator
from ctypes import c_bool, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any


#: The bounds of each kind of number: ctypes would cut one that is too large, without a word.
_BOUNDS = {
    c_int32: (-(2**31), 2**31), c_uint32: (0, 2**32), c_int64: (-(2**63), 2**63), c_uint64: (0, 2**64),
}


def _check(name: str, kind: Any, value: Any) -> None:
    if isinstance(value, bytes):
        if b"\0" in value:
            raise ValueError(f"{name} must have no null character in it")
    elif kind in _BOUNDS:
        low, end = _BOUNDS[kind]
        if not low <= operator.index(value) < end:
            raise ValueError(f"{name} must be {low} or more, and below {end}; it is {value}")


class Sized(ctypes.Structure):
    """Begins with its size, which the library reads."""

    def __init__(self, **fields: Any) -> None:
        kinds = {field[0]: field[1] for field in self._fields_}
        for name, value in fields.items():
            _check(name, kinds[name], value)
        super().__init__(**fields)
        self.struct_size = ctypes.sizeof(self)


class PciAddress(ctypes.Structure):
    _fields_ = [
        ("domain", c_uint32), ("bus", c_uint8), ("device", c_uint8), ("function", c_uint8), ("present", c_uint8),
    ]


class Error(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("kind", c_int32), ("origin", c_int32), ("device", c_int32), ("code", c_int64),
        ("call", c_char_p), ("code_name", c_char_p), ("finding", c_char_p), ("bytes", c_uint64),
        ("available", c_uint64), ("slot", c_int32), ("has_uuid", c_uint32), ("pci", PciAddress),
        ("uuid", c_uint8 * 16),
    ]


class GpuSelector(ctypes.Structure):
    _fields_ = [
        ("named", c_uint32), ("ordinal", c_int32), ("pci", PciAddress), ("uuid", c_uint8 * 16), ("luid", c_uint8 * 8),
    ]


class Config(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("api", c_int32), ("slot_count", c_uint32), ("cuda_device", c_int32),
        ("frame_bytes", c_uint64), ("vulkan_ctx", c_void_p), ("d3d12_device", c_void_p), ("gpu", GpuSelector),
        ("peer", PciAddress), ("accepts", c_uint32), ("flags", c_uint32), ("page_lock", c_int32),
        ("huge_pages", c_int32), ("numa_node", c_int32), ("gpu_pin", c_int32), ("cuda_memory", c_int32),
        ("pcie_mapping", c_int32), ("rdma", c_int32), ("reserved", c_uint32),
    ]


class Slot(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("handoff_kind", c_int32), ("handoff", c_uint64), ("size", c_uint64),
        ("offset", c_uint64), ("opaque", c_void_p),
    ]


class Facts(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("api", c_int32), ("device", c_char_p), ("pci", PciAddress),
        ("frame_bytes", c_uint64), ("requested_bytes", c_uint64), ("committed_bytes", c_uint64),
        ("slot_stride", c_uint64), ("region_count", c_uint64), ("page_bytes", c_uint64),
        ("huge_page_bytes", c_uint64), ("resident_bytes", c_uint64), ("locked_bytes", c_uint64),
        ("bar1_bytes", c_uint64), ("bar1_free_bytes", c_uint64), ("bar1_slots", c_uint32), ("slot_count", c_uint32),
        ("pinned_by", c_int32), ("numa_node", c_int32), ("direct_for_gpu", c_int32), ("rdma_capable", c_int32),
        ("cuda_memory", c_int32), ("sync_memops", c_int32), ("memfd", c_uint32), ("writes_need_flush", c_uint32),
    ]


class Proof(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("allocated", c_int32), ("capable", c_int32), ("exported", c_int32),
        ("registered", c_int32), ("written", c_int32), ("read", c_int32), ("by", c_int32),
    ]


class Tensor(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("slot", c_uint32), ("offset", c_uint64), ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)), ("dimensions", c_uint32), ("type_code", c_uint8),
        ("type_bits", c_uint8), ("type_lanes", c_uint16), ("flags", c_uint32), ("device_type", c_int32),
    ]


class DmaBufFacts(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("fd", c_int32), ("offset", c_uint64), ("size", c_uint64),
        ("pcie_mapped", c_uint32), ("reserved", c_uint32),
    ]


class BackendInfo(Sized):
    _fields_ = [("struct_size", c_uint32), ("api", c_int32), ("available", c_uint32), ("device_count", c_uint32)]


class DeviceInfo(Sized):
    _fields_ = [("struct_size", c_uint32), ("rdma_capable", c_int32), ("name", c_char_p), ("pci", PciAddress)]


class MemoryFacts(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("kind", c_int32), ("peer_usable", c_int32), ("gpu", c_uint32),
        ("page_bytes", c_uint64), ("resident_bytes", c_uint64), ("locked_bytes", c_uint64), ("readable", c_uint32),
        ("writable", c_uint32), ("aligned_64k", c_uint32), ("copied_on_fork", c_uint32), ("gpu_api", c_int32),
        ("gpu_ordinal", c_int32), ("gpu_pci", PciAddress), ("gpu_allocation", c_uint64),
        ("gpu_allocation_bytes", c_uint64), ("gpu_mapping_bytes", c_uint64), ("gpu_rdma_capable", c_int32),
        ("gpu_exportable", c_int32), ("gpu_sync_memops", c_int32), ("reserved", c_uint32),
    ]


LOG_SINK = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p, ctypes.POINTER(Error))

#: The callback of a completion.
DONE = ctypes.CFUNCTYPE(c_bool, c_void_p)


class Completion(ctypes.Structure):
    _fields_ = [("context", c_void_p), ("done", c_void_p)]


class Frame(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("slot", c_uint32), ("sequence", c_uint64), ("timestamp", c_int64),
        ("bytes", c_uint64), ("bytes_ready", c_uint64), ("fault", c_int32), ("reserved", c_uint32),
    ]


class RingCounters(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("reserved", c_uint32), ("published", c_uint64), ("taken", c_uint64),
        ("drops", c_uint64), ("underruns", c_uint64),
    ]


class CopyQueueOptions(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("streams", c_uint32), ("depth", c_uint32), ("on_stream", c_uint32),
        ("cuda_stream", c_void_p),
    ]


class Copy(ctypes.Structure):
    _fields_ = [("opaque", c_uint64 * 8)]


TRANSFER = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint32, c_void_p, c_size_t, ctypes.POINTER(Error))


class Peer(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("agent", c_int32), ("name", c_char_p), ("context", c_void_p),
        ("write", TRANSFER), ("read", TRANSFER),
    ]


class VerifyOptions(Sized):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("bytes", c_uint64), ("seed", c_uint64)]


class VerifyFailure(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("slot", c_uint32), ("read", c_uint32), ("untouched", c_uint32),
        ("offset", c_uint64), ("wrong_bytes", c_uint64),
    ]


class ReportFacts(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("slots", c_uint32), ("peer", c_char_p), ("write", c_int32), ("read", c_int32),
        ("failure_count", c_uint64),
    ]


class DoctorOptions(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("reserved", c_uint32), ("root", c_char_p), ("gpu", c_char_p), ("peer", c_char_p),
    ]


class DiagnosisFacts(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("verdict", c_int32), ("kernel", c_char_p), ("driver", c_char_p),
        ("finding_count", c_uint64), ("pair_count", c_uint64), ("device_count", c_uint64),
        ("root_would_add_count", c_uint64),
    ]


class Finding(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("severity", c_int32), ("id", c_char_p), ("title", c_char_p),
        ("evidence", c_char_p), ("fix", c_char_p), ("risk", c_char_p), ("device", c_char_p),
    ]


class PairVerdict(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("route", c_int32), ("verdict", c_int32), ("distance", c_int32), ("gpu", c_char_p),
        ("peer", c_char_p), ("because", ctypes.POINTER(c_char_p)), ("because_count", c_uint64),
    ]


class MachineDevice(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("role", c_int32), ("id", c_char_p), ("name", c_char_p), ("driver", c_char_p),
        ("link", c_char_p), ("bar_bytes", c_uint64), ("path_count", c_uint64), ("numa_node", c_int32),
        ("has_bar", c_uint32),
    ]


class Explanation(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("reserved", c_uint32), ("matched", c_char_p), ("finding", c_char_p),
        ("causes", ctypes.POINTER(c_char_p)), ("cause_count", c_uint64),
    ]


class FrameProofConfig(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("on_fault", c_int32), ("seed", c_uint64), ("partial_frames", c_uint32),
        ("reserved", c_uint32),
    ]


class FrameProofCounters(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("reserved", c_uint32), ("checked", c_uint64), ("stale", c_uint64),
        ("torn", c_uint64), ("late", c_uint64), ("wrong_offset", c_uint64), ("short_frames", c_uint64),
        ("unchecked", c_uint64),
    ]


class FrameFinding(ctypes.Structure):
    _fields_ = [("fault", c_int32), ("reserved", c_uint32), ("offset", c_uint64)]


class StagedConfig(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("flow", c_int32), ("policy", c_int32), ("path", c_int32),
        ("buffer", ctypes.POINTER(Config)), ("proof", ctypes.POINTER(FrameProofConfig)),
        ("companion_bytes", c_uint64), ("slice_bytes", c_uint64),
    ]


class StagedFacts(Sized):
    _fields_ = [
        ("struct_size", c_uint32), ("path", c_int32), ("slice_bytes", c_uint64), ("companion_bytes", c_uint64),
    ]
