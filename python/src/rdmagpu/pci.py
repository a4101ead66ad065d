"""Where a device sits on the PCI bus."""
from __future__ import annotations

import ctypes
import dataclasses

from . import _structs
from ._library import lib


@dataclasses.dataclass(frozen=True, order=True)
class PciAddress:
    domain: int
    bus: int
    device: int
    function: int

    @classmethod
    def parse(cls, text: str) -> PciAddress:
        """Reads "65:00.0" (domain 0) or "0000:65:00.0"."""
        parsed = _structs.PciAddress()
        if not lib.rdmagpu_pci_parse(text.encode(), ctypes.byref(parsed)):
            raise ValueError(f"no PCI address: {text!r}; one is as in 0000:65:00.0")
        return cls(parsed.domain, parsed.bus, parsed.device, parsed.function)

    @classmethod
    def of(cls, c: _structs.PciAddress) -> PciAddress | None:
        return cls(c.domain, c.bus, c.device, c.function) if c.present else None

    def to_c(self) -> _structs.PciAddress:
        return _structs.PciAddress(self.domain, self.bus, self.device, self.function, 1)

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function:x}"
