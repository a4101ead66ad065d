"""Descriptors of a buffer's memory, for peers and for other processes."""
from __future__ import annotations

import ctypes
import os
import socket
from types import TracebackType

from . import _structs
from ._handle import Handle
from ._library import lib
from .errors import ClosedError, Failure, call, reason_of


class _Owner:
    """Holds an object of C until it is closed."""

    def __init__(self, handle: Handle) -> None:
        self._held: Handle | None = handle

    @property
    def _handle(self) -> Handle:
        handle = self._held
        if handle is None:
            raise ClosedError(f"the {type(self).__name__} is closed")
        return handle

    @property
    def closed(self) -> bool:
        return self._held is None

    def close(self) -> None:
        """Closes the descriptor, and drops the hold on the memory."""
        self._held = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class DmaBuf(_Owner):
    """A dma-buf descriptor. Holds the memory, and may outlive the buffer."""

    def __enter__(self) -> DmaBuf:
        return self

    def _facts(self) -> _structs.DmaBufFacts:
        c = _structs.DmaBufFacts()
        call(lib.rdmagpu_dma_buf_facts_of, self._handle, ctypes.byref(c))
        return c

    def fileno(self) -> int:
        """The descriptor. Still this object's, which closes it: who keeps it takes dup() or release()."""
        return int(self._facts().fd)

    @property
    def offset(self) -> int:
        """Bytes into the descriptor where the exported range starts."""
        return int(self._facts().offset)

    @property
    def size(self) -> int:
        """Bytes exported from there."""
        return int(self._facts().size)

    @property
    def pcie_mapped(self) -> bool:
        """Mapped through PCIe (pcie_mapping=), and not in the driver's default way."""
        return bool(self._facts().pcie_mapped)

    @property
    def pcie_reason(self) -> Failure | None:
        """Why it is not, where that was tried."""
        reason = _structs.Error()
        call(lib.rdmagpu_dma_buf_pcie_reason, self._handle, ctypes.byref(reason))
        return reason_of(reason)

    def dup(self) -> int:
        """A descriptor of the caller's own, which the caller closes."""
        return os.dup(self.fileno())

    def release(self) -> int:
        """Hands the descriptor over, which the caller closes, and drops the hold on the memory."""
        fd = int(lib.rdmagpu_dma_buf_release(self._handle))
        self.close()
        return fd


class Shared(_Owner):
    """A buffer on its way to another process."""

    def __enter__(self) -> Shared:
        return self

    def fileno(self) -> int:
        """The descriptor; still this object's."""
        return int(lib.rdmagpu_shared_fd(self._handle))

    def send(self, unix_socket: socket.socket) -> None:
        """Sends one message with the descriptor through a connected Unix-domain socket."""
        call(lib.rdmagpu_shared_send, self._handle, unix_socket.fileno())

    def token(self) -> str:
        """Describes the descriptor, which from then on survives exec(), for a child that inherits it: give it to
        subprocess by pass_fds=[shared.fileno()]."""
        length = ctypes.c_size_t()
        call(lib.rdmagpu_shared_token, self._handle, None, 0, ctypes.byref(length))
        text = ctypes.create_string_buffer(length.value + 1)
        call(lib.rdmagpu_shared_token, self._handle, text, len(text), ctypes.byref(length))
        return text.value.decode()
