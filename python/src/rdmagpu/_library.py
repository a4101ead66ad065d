"""Finds librdmagpu_c, loads it, and says of each function that is used how it is called."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from ctypes import POINTER, c_bool, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _structs as s

SONAME = "librdmagpu_c.so.0"

_error = POINTER(s.Error)
_i32, _u32, _u64 = POINTER(c_int32), POINTER(c_uint32), POINTER(c_uint64)
_object = POINTER(c_void_p)
_copy = POINTER(s.Copy)

#: What each function returns, and its parameters.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "rdmagpu_version": (c_char_p, []),
    "rdmagpu_error_message": (c_size_t, [_error, c_char_p, c_size_t]),
    "rdmagpu_error_hint_count": (c_size_t, [_error]),
    "rdmagpu_error_hint": (c_char_p, [_error, c_size_t]),
    "rdmagpu_errc_name": (c_char_p, [c_int32]),
    "rdmagpu_origin_name": (c_char_p, [c_int32]),
    "rdmagpu_api_name": (c_char_p, [c_int32]),
    "rdmagpu_api_named": (c_bool, [c_char_p, _i32]),
    "rdmagpu_handoff_name": (c_char_p, [c_int32]),
    "rdmagpu_agent_name": (c_char_p, [c_int32]),
    "rdmagpu_pinned_by_name": (c_char_p, [c_int32]),
    "rdmagpu_cuda_memory_name": (c_char_p, [c_int32]),
    "rdmagpu_memory_kind_name": (c_char_p, [c_int32]),
    "rdmagpu_ring_status_name": (c_char_p, [c_int32]),
    "rdmagpu_pci_parse": (c_bool, [c_char_p, POINTER(s.PciAddress)]),
    "rdmagpu_pci_text": (c_size_t, [s.PciAddress, c_char_p, c_size_t]),
    "rdmagpu_max_slots": (c_int, [POINTER(s.Config), _u32, _error]),
    "rdmagpu_buffer_create": (c_int, [POINTER(s.Config), _object, _error]),
    "rdmagpu_buffer_destroy": (None, [c_void_p]),
    "rdmagpu_buffer_slot_count": (c_uint32, [c_void_p]),
    "rdmagpu_buffer_slot": (c_int, [c_void_p, c_uint32, POINTER(s.Slot), _error]),
    "rdmagpu_buffer_upload": (c_int, [c_void_p, c_uint32, c_uint64, c_void_p, c_size_t, _error]),
    "rdmagpu_buffer_download": (c_int, [c_void_p, c_uint32, c_uint64, c_void_p, c_size_t, _error]),
    "rdmagpu_buffer_flush_peer_writes": (c_int, [c_void_p, _error]),
    "rdmagpu_buffer_checksum": (c_int, [c_void_p, c_uint32, c_uint64, c_size_t, _u64, _error]),
    "rdmagpu_buffer_poison": (c_int, [c_void_p, c_uint32, c_uint64, _error]),
    "rdmagpu_buffer_clear": (c_int, [c_void_p, c_uint32, _error]),
    "rdmagpu_checksum": (c_uint64, [c_void_p, c_size_t]),
    "rdmagpu_buffer_grant_access": (c_int, [c_void_p, POINTER(s.GpuSelector), _error]),
    "rdmagpu_buffer_facts": (c_int, [c_void_p, POINTER(s.Facts), _error]),
    "rdmagpu_buffer_reason": (c_int, [c_void_p, c_int32, _error, _error]),
    "rdmagpu_buffer_tolerated_count": (c_size_t, [c_void_p]),
    "rdmagpu_buffer_tolerated": (c_bool, [c_void_p, c_size_t, _error]),
    "rdmagpu_buffer_rejected_count": (c_size_t, [c_void_p]),
    "rdmagpu_buffer_rejected": (c_bool, [c_void_p, c_size_t, _i32, _error]),
    "rdmagpu_buffer_proof": (c_int, [c_void_p, POINTER(s.Proof), _error]),
    "rdmagpu_buffer_dlpack_device": (c_int, [c_void_p, _i32, _i32, _error]),
    "rdmagpu_buffer_dlpack": (c_int, [c_void_p, POINTER(s.Tensor), _object, _error]),
    "rdmagpu_buffer_export_region": (c_int, [c_void_p, _object, _error]),
    "rdmagpu_buffer_export_slot": (c_int, [c_void_p, c_uint32, _object, _error]),
    "rdmagpu_dma_buf_facts_of": (c_int, [c_void_p, POINTER(s.DmaBufFacts), _error]),
    "rdmagpu_dma_buf_pcie_reason": (c_int, [c_void_p, _error, _error]),
    "rdmagpu_dma_buf_release": (c_int, [c_void_p]),
    "rdmagpu_dma_buf_destroy": (None, [c_void_p]),
    "rdmagpu_buffer_share": (c_int, [c_void_p, _object, _error]),
    "rdmagpu_shared_send": (c_int, [c_void_p, c_int, _error]),
    "rdmagpu_shared_token": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t), _error]),
    "rdmagpu_shared_fd": (c_int, [c_void_p]),
    "rdmagpu_shared_destroy": (None, [c_void_p]),
    "rdmagpu_buffer_attach_socket": (c_int, [c_int, _object, _error]),
    "rdmagpu_buffer_attach_token": (c_int, [c_char_p, _object, _error]),
    "rdmagpu_backends_create": (c_int, [_object, _error]),
    "rdmagpu_backends_destroy": (None, [c_void_p]),
    "rdmagpu_backends_count": (c_size_t, [c_void_p]),
    "rdmagpu_backends_get": (c_bool, [c_void_p, c_size_t, POINTER(s.BackendInfo), _error]),
    "rdmagpu_backends_device": (c_bool, [c_void_p, c_size_t, c_size_t, POINTER(s.DeviceInfo)]),
    "rdmagpu_inspect": (c_int, [c_void_p, c_size_t, POINTER(s.MemoryFacts), c_char_p, c_size_t, _error]),
    "rdmagpu_set_log_sink": (None, [c_void_p, c_void_p]),
    "rdmagpu_ring_create": (c_int, [c_uint32, c_int32, _object, _error]),
    "rdmagpu_ring_destroy": (None, [c_void_p]),
    "rdmagpu_ring_counters_of": (c_int, [c_void_p, POINTER(s.RingCounters), _error]),
    "rdmagpu_ring_acquire": (c_int, [c_void_p, _u32, c_int64]),
    "rdmagpu_ring_abandon": (c_int, [c_void_p, c_uint32]),
    "rdmagpu_ring_publish": (c_int, [c_void_p, c_uint32, c_int64, c_uint64, c_uint64, s.Completion]),
    "rdmagpu_ring_advance": (c_int, [c_void_p, c_uint32, c_uint64]),
    "rdmagpu_ring_count_drop": (None, [c_void_p]),
    "rdmagpu_ring_close_producer": (None, [c_void_p]),
    "rdmagpu_ring_take": (c_int, [c_void_p, POINTER(s.Frame), c_int64]),
    "rdmagpu_ring_bytes_ready": (c_uint64, [c_void_p, c_uint32]),
    "rdmagpu_ring_wait_bytes": (c_int, [c_void_p, c_uint32, c_uint64, c_int64]),
    "rdmagpu_ring_release": (c_int, [c_void_p, c_uint32, s.Completion]),
    "rdmagpu_ring_count_underrun": (None, [c_void_p]),
    "rdmagpu_ring_close_consumer": (None, [c_void_p]),
    "rdmagpu_ring_notify": (None, [c_void_p]),
    "rdmagpu_copy_queue_create": (c_int, [c_void_p, POINTER(s.CopyQueueOptions), _object, _error]),
    "rdmagpu_copy_queue_destroy": (None, [c_void_p]),
    "rdmagpu_copy_queue_upload": (c_int, [c_void_p, c_uint32, c_uint64, c_void_p, c_size_t, _copy, _error]),
    "rdmagpu_copy_queue_download": (c_int, [c_void_p, c_uint32, c_uint64, c_void_p, c_size_t, _copy, _error]),
    "rdmagpu_copy_queue_finish": (c_int, [c_void_p, _error]),
    "rdmagpu_copy_done": (c_bool, [_copy]),
    "rdmagpu_copy_wait": (c_int, [_copy, _error]),
    "rdmagpu_copy_completion": (s.Completion, [_copy]),
    "rdmagpu_copy_release": (None, [_copy]),
    "rdmagpu_verify": (c_int, [c_void_p, POINTER(s.Peer), POINTER(s.VerifyOptions), _object, _error]),
    "rdmagpu_report_destroy": (None, [c_void_p]),
    "rdmagpu_report_facts_of": (c_int, [c_void_p, POINTER(s.ReportFacts), _error]),
    "rdmagpu_report_proof": (c_int, [c_void_p, POINTER(s.Proof), _error]),
    "rdmagpu_report_reason": (c_int, [c_void_p, c_bool, _error, _error]),
    "rdmagpu_severity_name": (c_char_p, [c_int32]),
    "rdmagpu_verdict_name": (c_char_p, [c_int32]),
    "rdmagpu_route_name": (c_char_p, [c_int32]),
    "rdmagpu_distance_name": (c_char_p, [c_int32]),
    "rdmagpu_machine_role_name": (c_char_p, [c_int32]),
    "rdmagpu_diagnose": (c_int, [POINTER(s.DoctorOptions), _object, _error]),
    "rdmagpu_diagnosis_destroy": (None, [c_void_p]),
    "rdmagpu_diagnosis_facts_of": (c_int, [c_void_p, POINTER(s.DiagnosisFacts), _error]),
    "rdmagpu_diagnosis_finding": (c_bool, [c_void_p, c_size_t, POINTER(s.Finding)]),
    "rdmagpu_diagnosis_pair": (c_bool, [c_void_p, c_size_t, POINTER(s.PairVerdict)]),
    "rdmagpu_diagnosis_device": (c_bool, [c_void_p, c_size_t, POINTER(s.MachineDevice)]),
    "rdmagpu_diagnosis_path": (c_char_p, [c_void_p, c_size_t, c_size_t]),
    "rdmagpu_diagnosis_root_would_add": (c_char_p, [c_void_p, c_size_t]),
    "rdmagpu_explain": (c_int, [c_char_p, _object, _error]),
    "rdmagpu_explanations_destroy": (None, [c_void_p]),
    "rdmagpu_explanations_count": (c_size_t, [c_void_p]),
    "rdmagpu_explanations_get": (c_bool, [c_void_p, c_size_t, POINTER(s.Explanation)]),
    "rdmagpu_frame_fault_name": (c_char_p, [c_int32]),
    "rdmagpu_frame_proof_create": (c_int, [c_void_p, POINTER(s.FrameProofConfig), _object, _error]),
    "rdmagpu_frame_proof_destroy": (None, [c_void_p]),
    "rdmagpu_frame_proof_arm": (s.FrameFinding, [c_void_p, c_uint32]),
    "rdmagpu_frame_proof_check": (s.FrameFinding, [c_void_p, c_uint32, c_uint64]),
    "rdmagpu_frame_proof_counters_of": (c_int, [c_void_p, POINTER(s.FrameProofCounters), _error]),
    "rdmagpu_frame_proof_slot_count": (c_uint32, [c_void_p]),
    "rdmagpu_ring_create_proven": (c_int, [c_uint32, c_int32, c_void_p, _object, _error]),
    "rdmagpu_ring_fault": (c_int32, [c_void_p, c_uint32]),
    "rdmagpu_slot_path_name": (c_char_p, [c_int32]),
    "rdmagpu_staged_create": (c_int, [POINTER(s.StagedConfig), _object, _error]),
    "rdmagpu_staged_destroy": (None, [c_void_p]),
    "rdmagpu_staged_close": (None, [c_void_p]),
    "rdmagpu_staged_facts_of": (c_int, [c_void_p, POINTER(s.StagedFacts), _error]),
    "rdmagpu_staged_reason": (c_int, [c_void_p, _error, _error]),
    "rdmagpu_staged_ring": (c_void_p, [c_void_p]),
    "rdmagpu_staged_application": (c_void_p, [c_void_p]),
    "rdmagpu_staged_peer": (c_void_p, [c_void_p]),
    "rdmagpu_staged_handoff": (c_int, [c_void_p, c_uint32, _i32, _u64, _error]),
    "rdmagpu_staged_path": (c_int32, [c_void_p]),
    "rdmagpu_staged_companion": (c_void_p, [c_void_p, c_uint32, _u64]),
    "rdmagpu_staged_failure": (c_int, [c_void_p, _error, _error]),
    "rdmagpu_staged_proof_counters": (c_bool, [c_void_p, POINTER(s.FrameProofCounters)]),
    "rdmagpu_report_failure": (c_bool, [c_void_p, c_size_t, POINTER(s.VerifyFailure), _error]),
}


class LibraryNotFoundError(ImportError):
    """librdmagpu_c could not be loaded; the message says what was tried, and how each try ended."""


def _candidates() -> list[tuple[str, str]]:
    """Each library to try, and where its name comes from. What the user names is not passed over in silence."""
    named = os.environ.get("RDMAGPU_LIBRARY")
    inside = pathlib.Path(__file__).parent / SONAME
    found = [(str(inside), "in the wheel")] if inside.exists() else []
    if named:
        return [*found, (named, "named by RDMAGPU_LIBRARY")]
    return [*found, (SONAME, "the system's")]


def _load() -> tuple[ctypes.CDLL, str]:
    tried = [] if (pathlib.Path(__file__).parent / SONAME).exists() else [f"{SONAME} in the wheel: there is none"]
    if not os.environ.get("RDMAGPU_LIBRARY"):
        tried.append("RDMAGPU_LIBRARY is not set")
    for path, origin in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"{path} ({origin}): {error}")
            continue
        missing = [name for name in FUNCTIONS if not hasattr(library, name)]
        if not missing:
            return library, path
        tried.append(f"{path} ({origin}): is older than this package, and has no {missing[0]}")
    raise LibraryNotFoundError(
        "the library of rdmagpu's C interface cannot be loaded:\n  "
        + "\n  ".join(tried)
        + "\nInstall the wheel that carries it, or set RDMAGPU_LIBRARY to the path of librdmagpu_c.so."
    )


lib, path = _load()
for _name, (_result, _parameters) in FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.restype = _result
    _function.argtypes = _parameters


def text(name: bytes | None) -> str:
    """A name of the library's; one that this package's library does not know is told by a question mark."""
    return name.decode() if name is not None else "?"
