"""Which devices can reach a GPU's memory on this machine, and what stands in the way."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Any

from . import _structs
from ._handle import Handle
from ._library import lib, text
from .errors import call


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something about the machine that is worth telling; docs/doctor.md has every id."""

    id: str
    severity: str  #: "note", "warning", or "blocker".
    title: str
    evidence: str  #: The file and what it says.
    fix: str  #: What to do; may be empty.
    risk: str
    device: str  #: Empty: the machine.


@dataclasses.dataclass(frozen=True)
class Pair:
    """What a peer can do with a GPU's memory by one route."""

    gpu: str
    peer: str  #: Empty: any peer, of a machine that has none.
    route: str  #: "dma-buf", "peer-memory", "nvidia-p2p", or "host".
    verdict: str  #: "direct", "write-only", "read-only", "unknown", "staged", or "blocked".
    distance: str
    because: tuple[str, ...]  #: Ids of findings, the most decisive first.


@dataclasses.dataclass(frozen=True)
class MachineDevice:
    """A GPU, a peer, or a bridge on the way to one of them."""

    role: str  #: "bridge", "gpu", "nic", or "card".
    id: str  #: The PCI address, or the name of a device that has none.
    name: str
    driver: str  #: Of the kernel; empty: none is bound.
    path: tuple[str, ...]  #: From the host bridge to the device; empty: unknown.
    bar_bytes: int | None  #: Of a GPU: the window through which it shows its memory.
    numa_node: int | None
    link: str


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    verdict: str  #: The best that any pair has.
    kernel: str
    driver: str  #: NVIDIA's version and flavour; empty: there is none.
    findings: tuple[Finding, ...]  #: The worst first.
    pairs: tuple[Pair, ...]
    devices: tuple[MachineDevice, ...]
    root_would_add: tuple[str, ...]  #: What only the superuser can read, and was not read.


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What an error may mean."""

    matched: str  #: What of the text was known, such as "ibv_reg_mr EFAULT".
    finding: str
    causes: tuple[str, ...]  #: What to do about it, the most likely cause first.


def said(given: bytes | None) -> str:
    """File names may have bytes that are no UTF-8."""
    return (given or b"").decode(errors="replace")


def _finding(diagnosis: Handle, index: int) -> Finding:
    c = _structs.Finding()
    lib.rdmagpu_diagnosis_finding(diagnosis, index, ctypes.byref(c))
    severity = text(lib.rdmagpu_severity_name(c.severity))
    return Finding(said(c.id), severity, said(c.title), said(c.evidence), said(c.fix), said(c.risk), said(c.device))


def _pair(diagnosis: Handle, index: int) -> Pair:
    c = _structs.PairVerdict()
    lib.rdmagpu_diagnosis_pair(diagnosis, index, ctypes.byref(c))
    return Pair(
        gpu=said(c.gpu),
        peer=said(c.peer),
        route=text(lib.rdmagpu_route_name(c.route)),
        verdict=text(lib.rdmagpu_verdict_name(c.verdict)),
        distance=text(lib.rdmagpu_distance_name(c.distance)),
        because=tuple(said(c.because[i]) for i in range(c.because_count)),
    )


def _device(diagnosis: Handle, index: int) -> MachineDevice:
    c = _structs.MachineDevice()
    lib.rdmagpu_diagnosis_device(diagnosis, index, ctypes.byref(c))
    return MachineDevice(
        role=text(lib.rdmagpu_machine_role_name(c.role)),
        id=said(c.id),
        name=said(c.name),
        driver=said(c.driver),
        path=tuple(said(lib.rdmagpu_diagnosis_path(diagnosis, index, step)) for step in range(c.path_count)),
        bar_bytes=c.bar_bytes if c.has_bar else None,
        numa_node=c.numa_node if c.numa_node >= 0 else None,
        link=said(c.link),
    )


def diagnose(
    *, root: str | os.PathLike[str] | None = None, gpu: str | None = None, peer: str | None = None
) -> Diagnosis:
    """Looks at what the kernel tells of this machine, and concludes. Changes nothing, tries nothing, starts no driver.

    `root` replaces "/": a recorded machine. `gpu` and `peer` name the only ones of interest, by PCI address; a peer by
    the name of its RDMA device, too.
    """
    options = _structs.DoctorOptions(
        root=None if root is None else os.fsencode(root),
        gpu=None if gpu is None else gpu.encode(),
        peer=None if peer is None else peer.encode(),
    )
    made = Handle(lib.rdmagpu_diagnose, lib.rdmagpu_diagnosis_destroy, ctypes.byref(options))
    c = _structs.DiagnosisFacts()
    call(lib.rdmagpu_diagnosis_facts_of, made, ctypes.byref(c))
    return Diagnosis(
        verdict=text(lib.rdmagpu_verdict_name(c.verdict)),
        kernel=said(c.kernel),
        driver=said(c.driver),
        findings=tuple(_finding(made, i) for i in range(c.finding_count)),
        pairs=tuple(_pair(made, i) for i in range(c.pair_count)),
        devices=tuple(_device(made, i) for i in range(c.device_count)),
        root_would_add=tuple(
            said(lib.rdmagpu_diagnosis_root_would_add(made, i)) for i in range(c.root_would_add_count)
        ),
    )


def explain(failure: Any) -> list[Explanation]:
    """Explains any text with an error in it ("ibv_reg_mr 14", a line of dmesg), or an exception; the best match first."""
    made = Handle(lib.rdmagpu_explain, lib.rdmagpu_explanations_destroy, str(failure).encode())
    found = []
    for index in range(lib.rdmagpu_explanations_count(made)):
        c = _structs.Explanation()
        lib.rdmagpu_explanations_get(made, index, ctypes.byref(c))
        causes = tuple(said(c.causes[i]) for i in range(c.cause_count))
        found.append(Explanation(said(c.matched), said(c.finding), causes))
    return found
