"""Element types, by the names that array libraries share."""
from __future__ import annotations

import dataclasses
import sys
from typing import Any


@dataclasses.dataclass(frozen=True)
class DType:
    name: str
    code: int  #: DLPack's DLDataTypeCode.
    bits: int
    letter: str  #: Of NumPy's type strings; "" where it has none.

    @property
    def itemsize(self) -> int:
        return self.bits // 8

    @property
    def typestr(self) -> str:
        order = "|" if self.bits == 8 else "<" if sys.byteorder == "little" else ">"
        return f"{order}{self.letter}{self.itemsize}"


_TYPES = {
    dtype.name: dtype
    for dtype in (
        DType("bool", 6, 8, "b"),
        *(DType(f"int{bits}", 0, bits, "i") for bits in (8, 16, 32, 64)),
        *(DType(f"uint{bits}", 1, bits, "u") for bits in (8, 16, 32, 64)),
        *(DType(f"float{bits}", 2, bits, "f") for bits in (16, 32, 64)),
        DType("bfloat16", 4, 16, ""),
        DType("complex64", 5, 64, "c"),
        DType("complex128", 5, 128, "c"),
    )
}


def dtype_of(wanted: Any) -> DType:
    """Of a name, or of a dtype of NumPy, PyTorch, CuPy or JAX."""
    name = wanted if isinstance(wanted, str) else getattr(wanted, "name", None) or getattr(wanted, "__name__", None)
    found = _TYPES.get(str(name if name else wanted).rpartition(".")[2])
    if found is None or getattr(wanted, "isnative", True) is False:
        raise TypeError(f"no dtype of slots: {wanted!r}; there are {', '.join(_TYPES)}, in the machine's byte order")
    return found
