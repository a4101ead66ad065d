import threading
import time

import pytest
import rdmagpu


def test_a_slot_goes_round():
    ring = rdmagpu.Ring(2)
    slot = ring.acquire(timeout=0)
    ring.publish(slot, timestamp=-5, nbytes=100)
    frame = ring.take(timeout=1)
    assert frame == rdmagpu.Frame(slot=slot, sequence=0, timestamp=-5, bytes=100, bytes_ready=100)
    ring.release(frame)
    assert ring.counters == rdmagpu.Counters(published=1, taken=1, drops=0, underruns=0)


def test_what_is_not_to_be_had_is_a_timeout():
    ring = rdmagpu.Ring(1)
    for timeout in (0, 0.25):  # longer than a wait stays in C
        begin = time.monotonic()
        with pytest.raises(rdmagpu.RingTimeout) as caught:
            ring.take(timeout)
        assert time.monotonic() - begin >= timeout
    assert isinstance(caught.value, TimeoutError)
    ring.acquire()
    with pytest.raises(rdmagpu.RingTimeout):
        ring.acquire(timeout=0)


def test_a_slot_that_is_not_the_callers_is_misuse():
    ring = rdmagpu.Ring(2)
    for misuse in (lambda: ring.publish(0), lambda: ring.release(1), lambda: ring.abandon(7), lambda: ring.advance(0, 1)):
        with pytest.raises(rdmagpu.RingMisuse):
            misuse()
    with pytest.raises(ValueError):
        ring.release(-1)
    for wrong in (dict(slots=-1), dict(slots=1, policy="lifo")):
        with pytest.raises(ValueError):
            rdmagpu.Ring(**wrong)
    with pytest.raises(rdmagpu.InvalidArgumentError):
        rdmagpu.Ring(0)


def test_blocks_publish_and_release():
    ring = rdmagpu.Ring(1)
    with ring.acquired(timeout=0) as claim:
        claim.bytes, claim.timestamp = 10, 3
    with ring.taken(timeout=0) as frame:
        assert (frame.bytes, frame.timestamp) == (10, 3)
        with pytest.raises(rdmagpu.RingTimeout):
            ring.acquire(timeout=0)
    with pytest.raises(KeyError), ring.acquired(timeout=0):
        raise KeyError
    assert ring.acquire(timeout=0) == 0
    assert ring.counters.published == 1


def test_a_block_on_a_ring_that_closes_abandons_its_slot():
    ring = rdmagpu.Ring(1)
    with pytest.raises(rdmagpu.RingClosed), ring.acquired(timeout=0):
        ring.close_consumer()
    assert ring.counters.published == 0


def test_frames_end_when_the_producer_has():
    ring = rdmagpu.Ring(3)

    def produce():
        for number in range(50):
            with ring.acquired() as claim:
                claim.timestamp = number
        ring.close_producer()

    thread = threading.Thread(target=produce)
    thread.start()
    assert [frame.timestamp for frame in ring.frames()] == list(range(50))
    thread.join()


def test_the_newest_frame_is_taken():
    ring = rdmagpu.Ring(3, policy="newest")
    for number in range(3):
        ring.publish(ring.acquire(), timestamp=number)
    assert ring.take(0).timestamp == 2 and ring.counters.drops == 2


def test_a_frame_grows():
    ring = rdmagpu.Ring(1)
    slot = ring.acquire()
    ring.publish(slot, nbytes=100, ready=10)
    frame = ring.take(0)
    assert frame.bytes_ready == 10 == ring.bytes_ready(slot)
    with pytest.raises(rdmagpu.RingTimeout):
        ring.wait_bytes(slot, 100, timeout=0)
    ring.advance(slot, 100)
    ring.wait_bytes(slot, 100)
    assert ring.bytes_ready(slot) == 100


def test_losses_are_counted():
    ring = rdmagpu.Ring(1)
    ring.count_drop()
    ring.count_underrun()
    ring.notify()
    assert (ring.counters.drops, ring.counters.underruns) == (1, 1)
    ring.publish(ring.acquire())
    assert ring.take(0).sequence == 1


def test_a_function_says_when_the_work_is_done():
    ring = rdmagpu.Ring(1)
    done = False
    ring.publish(ring.acquire(), after=lambda: done)
    with pytest.raises(rdmagpu.RingTimeout):
        ring.take(0)
    done = True
    frame = ring.take(0)
    done = False
    ring.release(frame, after=lambda: done)
    with pytest.raises(rdmagpu.RingTimeout):
        ring.acquire(0)
    done = True
    assert ring.acquire(0) == frame.slot


def test_what_such_a_function_raises_is_raised_by_the_side_that_asks():
    ring = rdmagpu.Ring(1)

    def fail():
        raise KeyError("event")

    ring.publish(ring.acquire(), after=fail)
    with pytest.raises(KeyError):
        ring.take(0)
    assert ring.acquire(0) == 0
    ring.publish(0)
    assert ring.take(0).slot == 0


def test_a_completion_may_be_given_again_and_again():
    ring = rdmagpu.Ring(2)
    for number in range(100):
        slot = ring.acquire(0)
        ring.publish(slot, timestamp=number, after=lambda: True)
        frame = ring.take(0)
        assert frame.timestamp == number
        ring.release(frame, after=lambda: True)


def test_a_slot_changes_hands_when_its_copy_is_over(buffer):
    ring = rdmagpu.Ring(len(buffer))
    with buffer.copy_queue() as queue:
        for number in range(9):
            slot = ring.acquire(timeout=10)
            ring.publish(slot, nbytes=5, after=queue.upload(slot, b"frm%02d" % number))
            frame = ring.take(timeout=10)
            into = bytearray(5)
            copy = queue.download(buffer[frame.slot], into)
            ring.release(frame, after=copy)
            copy.wait()
            assert copy.done() and bytes(into) == b"frm%02d" % number
        queue.finish()


def test_a_queue_holds_the_bytes_of_copies_that_nobody_keeps(buffer):
    with buffer.copy_queue(streams=1, depth=4) as queue:
        for slot in buffer:
            for _ in range(4):
                queue.upload(slot, bytes([slot.index]) * slot.nbytes)
        queue.finish()
        assert all(slot.tobytes() == bytes([slot.index]) * slot.nbytes for slot in buffer)


def test_a_queue_refuses_what_is_not_in_a_slot(buffer):
    queue = buffer.copy_queue()
    for slot, offset in ((9, 0), (0, buffer[0].size)):
        with pytest.raises(rdmagpu.InvalidArgumentError):
            queue.upload(slot, b"x", offset)
    with pytest.raises(ValueError):
        queue.upload(-1, b"x")
    with pytest.raises(BufferError):
        queue.download(0, b"x")
    queue.close()
    queue.close()
    for use in (lambda: queue.upload(0, b"x"), queue.finish):
        with pytest.raises(rdmagpu.ClosedError):
            use()


def test_a_copy_outlives_its_queue_and_its_buffer(buffer):
    queue = buffer.copy_queue()
    copy = queue.upload(0, b"frame")
    buffer.close()
    del queue
    copy.wait()
    assert copy.done()


def test_both_sides_run_at_the_same_time():
    ring = rdmagpu.Ring(4)
    taken = []
    consumer = threading.Thread(target=lambda: taken.extend(frame.timestamp for frame in ring.frames(timeout=60)))
    consumer.start()
    for number in range(2000):
        with ring.acquired(timeout=60) as claim:
            claim.timestamp = number
    ring.close_producer()
    consumer.join(60)
    assert taken == list(range(2000))
