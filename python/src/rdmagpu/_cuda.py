"""The one call of CUDA's driver that the package makes itself."""
from __future__ import annotations

import ctypes


def synchronize(stream: int) -> None:
    """Waits until what was put on the stream is done."""
    driver = ctypes.CDLL("libcuda.so.1")
    code = driver.cuStreamSynchronize(ctypes.c_void_p(stream))
    if code != 0:
        raise BufferError(f"cuStreamSynchronize failed with {code} on the stream of the slot's view")
