"""Callers that go wrong: numbers that ctypes would cut, wrong types, copies of objects, threads, and forks."""
import copy
import gc
import os
import pickle
import threading

import pytest

import rdmagpu
from conftest import FRAME_BYTES


@pytest.mark.parametrize("option", [
    {"slots": 2**32 + 1}, {"slots": -1}, {"frame_bytes": 2**64 + 1}, {"cuda_device": 2**32}, {"gpu": 2**40},
    {"gpu": -1}, {"numa_node": 2**33}, {"api": "host\0x"},
])
def test_a_number_is_not_cut(option):
    with pytest.raises(ValueError):
        rdmagpu.Buffer(**{"api": "host", "slots": 2, "frame_bytes": 100, **option})


@pytest.mark.parametrize("use", [
    lambda b: b[0].upload(b"x", 2**64),
    lambda b: b[0].upload(b"x", -1),
    lambda b: b[0].download(bytearray(1), 2**64),
    lambda b: b[0].poison(-1),
    lambda b: b[0].checksum(2**70),
    lambda b: rdmagpu.verify(b, nbytes=-1),
    lambda b: rdmagpu.verify(b, seed=2**64 + 1),
    lambda b: b.copy_queue(streams=2**32),
    lambda b: b.copy_queue(depth=-1),
    lambda b: rdmagpu.inspect(-1, 5),
    lambda b: rdmagpu.inspect(4096, 2**64),
    lambda b: rdmagpu.diagnose(root="/tmp\0x"),
    lambda b: rdmagpu.Ring(2**32 + 1),
], ids=str)
def test_nor_is_one_of_a_call(host, use):
    with pytest.raises(ValueError):
        use(host)


@pytest.mark.parametrize("frame", [{"nbytes": -1}, {"nbytes": 2**64}, {"ready": -1}, {"timestamp": 2**64}])
def test_nor_is_one_of_a_frame(frame):
    ring = rdmagpu.Ring(1)
    slot = ring.acquire(timeout=0)
    with pytest.raises(ValueError):
        ring.publish(slot, **frame)
    ring.publish(slot, nbytes=5, timestamp=-1)
    with pytest.raises(ValueError):
        ring.take(timeout=float("nan"))
    taken = ring.take(timeout=0)
    assert (taken.bytes, taken.timestamp) == (5, -1)


@pytest.mark.parametrize("use", [
    lambda b: b["0"], lambda b: b[0.5], lambda b: b[0:1], lambda b: rdmagpu.Ring(2).abandon("0"),
    lambda b: rdmagpu.Buffer(None, slots=1, frame_bytes=1), lambda b: rdmagpu.Buffer("host", slots=2.5, frame_bytes=1),
    lambda b: rdmagpu.Buffer("host", slots="2", frame_bytes=1), lambda b: rdmagpu.Ring(2).take(timeout="1"),
    lambda b: rdmagpu.Copy(),
], ids=str)
def test_a_wrong_type_is_a_type_error(host, use):
    with pytest.raises(TypeError):
        use(host)


def test_what_is_one_object_is_not_copied(host):
    queue = host.copy_queue()
    begun = queue.upload(0, b"abc")
    for one in (begun, host.handle):
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                make(one)
    begun.wait()
    twin = copy.copy(host)  # of the same memory
    host.close()
    del host
    gc.collect()
    assert twin[0].tobytes()[:3] == b"abc"


def test_an_exception_crosses_processes():
    with pytest.raises(rdmagpu.InvalidArgumentError) as raised:
        rdmagpu.Buffer("host", slots=0, frame_bytes=1)
    other = pickle.loads(pickle.dumps(raised.value))
    assert (type(other), other.failure) == (type(raised.value), raised.value.failure)


def test_a_buffer_may_be_closed_under_other_threads():
    buffers = [rdmagpu.Buffer("host", slots=2, frame_bytes=4096, page_lock="off") for _ in range(4)]
    wrong = []

    def use(buffer):
        try:
            for _ in range(200):
                buffer[0].upload(b"abc")
                buffer[1].checksum()
        except rdmagpu.ClosedError:
            pass
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=use, args=(buffer,)) for buffer in buffers for _ in range(2)]
    for thread in threads:
        thread.start()
    for buffer in buffers:
        buffer.close()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_may_drop_what_it_has():
    held = [
        rdmagpu.Buffer("host", slots=2, frame_bytes=FRAME_BYTES, page_lock="off"), rdmagpu.Ring(2),
        rdmagpu.StagedBuffer("host", slots=2, frame_bytes=FRAME_BYTES, page_lock="off"),
    ]
    memory = held[0][0].memory
    memory[0] = 7
    child = os.fork()
    if child == 0:
        status = 1
        try:
            held.clear()
            gc.collect()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert memory[0] == 7
