"""Staged buffers, on both paths, and what holds what."""
import gc
import threading

import numpy
import pytest

import rdmagpu
from conftest import FRAME_BYTES, has_cuda


def make(path, **options):
    if path == "staged":
        if not has_cuda():
            pytest.skip("no CUDA driver, and no stand-in on LD_LIBRARY_PATH")
        return rdmagpu.StagedBuffer("cuda", slots=3, frame_bytes=FRAME_BYTES, path="staged", **options)
    return rdmagpu.StagedBuffer("host", slots=3, frame_bytes=FRAME_BYTES, page_lock="off", **options)


def capture(staged, number, write=True):
    with staged.ring.acquired(timeout=10) as claim:
        if write:
            numpy.asarray(staged.peer[claim.slot].memory)[:] = number
        claim.bytes = FRAME_BYTES


@pytest.mark.parametrize("path", ["direct", "staged"])
def test_frames_come_through_on_either_path(path):
    with make(path) as staged:
        assert staged.path == path and len(staged) == 3
        assert (staged.slice_bytes == 0) == (path == "direct")
        assert staged.reason is None and staged.failure is None
        for number in range(7):
            capture(staged, number)
            with staged.ring.taken(timeout=10) as frame:
                assert staged.application[frame.slot].tobytes() == bytes([number]) * FRAME_BYTES
        assert staged.proof_counters is None


@pytest.mark.parametrize("path", ["direct", "staged"])
def test_a_proof_tells_of_what_did_not_come(path):
    with make(path, prove="report") as staged:
        capture(staged, 1)
        capture(staged, 2, write=False)
        with staged.ring.taken(timeout=10) as frame:
            assert frame.fault == "none"
        with staged.ring.taken(timeout=10) as frame:
            assert frame.fault == "stale"
        assert staged.proof_counters.stale == 1


def test_handoffs_and_companions():
    with make("direct", companion_bytes=100) as staged:
        slot = staged.ring.acquire(timeout=10)
        assert staged.handoff(slot) == staged.peer[slot].handoff
        staged.companion(slot)[:3] = b"abc"
        assert bytes(staged.companion(slot)[:3]) == b"abc"
        with pytest.raises(rdmagpu.InvalidArgumentError):
            staged.handoff(3)
        assert len(staged.companion(3)) == 0
    assert len(make("direct").companion(0)) == 0


@pytest.mark.parametrize("path", ["direct", "staged"])
@pytest.mark.parametrize("kept", ["ring", "application", "peer", "memory", "companion"])
def test_any_part_may_be_the_last(path, kept):
    staged = make(path, companion_bytes=64)
    capture(staged, 5)
    last = {
        "ring": lambda: staged.ring,
        "application": lambda: staged.application,
        "peer": lambda: staged.peer,
        "memory": lambda: staged.peer[0].memory,
        "companion": lambda: staged.companion(0),
    }[kept]()
    del staged
    gc.collect()
    if kept == "ring":
        last.release(last.take(timeout=10))
    elif kept in ("memory", "companion"):
        last[0] = 1
    else:
        last[0].clear()
    del last
    gc.collect()


@pytest.mark.parametrize("path", ["direct", "staged"])
def test_a_completion_is_held_until_nobody_asks(path):
    staged = make(path)
    slot = staged.ring.acquire(timeout=10)
    staged.ring.publish(slot, nbytes=FRAME_BYTES, after=lambda: False)
    memory = staged.peer[0].memory
    del staged  # not the thread, which asks for as long as the memory is there
    gc.collect()
    memory[0] = 1
    del memory
    gc.collect()


@pytest.mark.parametrize("path", ["direct", "staged"])
def test_close_ends_waits_and_refuses_what_comes_after(path):
    staged = make(path)
    memory, ended = staged.peer[0].memory, []

    def consume():
        with pytest.raises(rdmagpu.RingClosed):
            staged.ring.take()
        ended.append(True)

    thread = threading.Thread(target=consume)
    thread.start()
    staged.close()
    thread.join()
    assert ended and staged.closed
    memory[0] = 1
    staged.close()
    for use in (lambda: staged.path, lambda: staged.companion(0), lambda: staged.application[0],
                lambda: staged.handoff(0), lambda: staged.failure):
        with pytest.raises(rdmagpu.ClosedError):
            use()
    with pytest.raises(rdmagpu.RingClosed):
        staged.ring.acquire(timeout=0)


def test_what_is_wrong_is_refused():
    for option in ({"path": "sideways"}, {"flow": "x"}, {"policy": "x"}, {"prove": "x"}, {"companion_bytes": -1}):
        with pytest.raises(ValueError):
            rdmagpu.StagedBuffer("host", slots=3, frame_bytes=FRAME_BYTES, **option)
    with pytest.raises(TypeError):
        make("direct", colour="green")
    with pytest.raises(rdmagpu.InvalidArgumentError):
        rdmagpu.StagedBuffer("host", slots=0, frame_bytes=100)
