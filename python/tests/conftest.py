"""Fixtures. GPU memory is the software device's: ctest puts it on the library path (docs/testkit.md)."""
import pathlib

import pytest

import rdmagpu

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAME = (108, 192, 2)
FRAME_BYTES = 108 * 192 * 2


def has_cuda():
    return any(backend.api == "cuda" and backend.available for backend in rdmagpu.backends())


@pytest.fixture
def host():
    with rdmagpu.Buffer("host", slots=3, frame_bytes=FRAME_BYTES, page_lock="off") as buffer:
        yield buffer


@pytest.fixture
def cuda():
    if not has_cuda():
        pytest.skip("no CUDA driver, and no stand-in on LD_LIBRARY_PATH")
    with rdmagpu.Buffer("cuda", slots=3, frame_bytes=FRAME_BYTES) as buffer:
        yield buffer


@pytest.fixture
def pinned():
    if not has_cuda():
        pytest.skip("no CUDA driver, and no stand-in on LD_LIBRARY_PATH")
    with rdmagpu.Buffer("host", slots=3, frame_bytes=FRAME_BYTES, gpu_pin="require") as buffer:
        yield buffer


@pytest.fixture(params=["host", "cuda"])
def buffer(request):
    return request.getfixturevalue(request.param)
