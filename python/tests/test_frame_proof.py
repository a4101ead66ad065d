"""Frames that did not come are told from those that did."""
import gc

import pytest

import rdmagpu
from conftest import FRAME_BYTES


def write(buffer, slot):
    buffer[slot].upload(bytes([7]) * FRAME_BYTES)


def test_a_frame_that_did_not_come_is_stale(buffer):
    proof = rdmagpu.FrameProof(buffer)
    assert len(proof) == len(buffer)
    assert not proof.arm(0)
    found = proof.check(0)
    assert found and found.fault == "stale"
    assert proof.counters.stale >= 1


def test_a_whole_frame_is_right(buffer):
    proof = rdmagpu.FrameProof(buffer)
    proof.arm(1)
    write(buffer, 1)
    assert not proof.check(1)
    assert (proof.counters.checked, proof.counters.stale, proof.counters.torn) == (1, 0, 0)


def test_half_a_frame_is_torn(buffer):
    proof = rdmagpu.FrameProof(buffer)
    proof.arm(1)
    buffer[1].upload(bytes([7]) * (FRAME_BYTES // 2))
    found = proof.check(1)
    assert found.fault == "torn" and 0 < found.offset < FRAME_BYTES


def test_a_ring_proves_every_frame(buffer):
    ring = rdmagpu.Ring(len(buffer), proof=rdmagpu.FrameProof(buffer))
    gc.collect()  # the ring holds its proof
    for right in (True, False):
        with ring.acquired(timeout=10) as claim:
            if right:
                write(buffer, claim.slot)
            claim.bytes = FRAME_BYTES
        with ring.taken(timeout=10) as frame:
            assert frame.fault == ring.fault(frame.slot) == ("none" if right else "stale")


def test_faulty_frames_may_be_dropped(host):
    proof = rdmagpu.FrameProof(host, on_fault="drop")
    ring = rdmagpu.Ring(len(host), proof=proof)
    ring.publish(ring.acquire(timeout=10), nbytes=FRAME_BYTES)
    with pytest.raises(rdmagpu.RingTimeout):
        ring.take(timeout=0)
    assert ring.counters.drops == 1


def test_a_proof_is_for_one_ring_at_a_time(host):
    proof = rdmagpu.FrameProof(host)
    ring = rdmagpu.Ring(len(host), proof=proof)
    with pytest.raises(ValueError):
        rdmagpu.Ring(len(host), proof=proof)
    del ring
    gc.collect()
    rdmagpu.Ring(len(host), proof=proof)


def test_a_proof_outlives_its_buffer():
    buffer = rdmagpu.Buffer("host", slots=2, frame_bytes=FRAME_BYTES, page_lock="off")
    proof = rdmagpu.FrameProof(buffer)
    buffer.close()
    del buffer
    gc.collect()
    proof.arm(0)
    assert proof.check(0).fault == "stale"


def test_what_is_wrong_is_refused(host):
    with pytest.raises(ValueError):
        rdmagpu.FrameProof(host, on_fault="explode")
    with pytest.raises(ValueError):
        rdmagpu.FrameProof(host, seed=-1)
    proof = rdmagpu.FrameProof(host)
    for slot in (3, 2**32 - 1):
        with pytest.raises(IndexError):
            proof.check(slot)
    with pytest.raises(ValueError):
        proof.check(-1)
    with pytest.raises(rdmagpu.InvalidArgumentError):
        rdmagpu.Ring(len(host) + 1, proof=proof)
    rdmagpu.Ring(len(host), proof=proof)
    host.close()
    with pytest.raises(rdmagpu.ClosedError):
        rdmagpu.FrameProof(host)
