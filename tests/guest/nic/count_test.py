"""Calls to the NIC's driver per frame, ours beside perftest's, as strace sees them in the emulated machine.

Each of the two is run with some frames and with twice as many. What it calls more often then is the price of a frame; what it
calls as often is done once. Speed under emulation is no matter of it.
"""
import collections
import os
import pathlib
import re
import subprocess
import time
import unittest

PROGRAM = os.environ["RDMAGPU"]
FRAME = 65536
FRAMES = 20
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\(\d+</dev/infiniband/uverbs0>")


def driver_calls(name, *command):
    """How often each system call on a descriptor went to the RDMA device."""
    trace = f"/tmp/{name}.strace"
    done = subprocess.run(["strace", "-f", "--seccomp-bpf", "-e", "trace=%desc", "-y", "-o", trace, *command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    with open(trace, encoding="utf-8", errors="replace") as file:
        return collections.Counter(match.group(1) for match in map(CALL.match, file) if match)


def wait_for_listener():
    """Until perftest listens, on TCP port 18515 in state 0A."""
    tables = [pathlib.Path("/proc/net", name) for name in ("tcp", "tcp6")]
    while not any(re.search(r":4853 \S+ 0A ", table.read_text(encoding="ascii")) for table in tables):
        time.sleep(0.1)


def ours(frames):
    """Each slot is written once, and read once: two frames."""
    return driver_calls("rdmagpu", PROGRAM, "verify", "--peer", "verbs:rxe0", "--api", "host", "--slots", str(frames // 2), "--bytes", str(FRAME))


def perftest(frames):
    options = ["-d", "rxe0", "-x", "1", "-s", str(FRAME), "-n", str(frames), "-F"]
    server = subprocess.Popen(["ib_write_bw", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_listener()
        return driver_calls("perftest", "ib_write_bw", *options, "10.99.0.1")
    finally:
        server.kill()
        server.wait()


def price(count):
    few, many = count(FRAMES), count(2 * FRAMES)
    more = {name: (many[name] - few[name]) / FRAMES for name in many if many[name] != few[name]}
    print(f"{count.__name__}: once {dict(few)}, each frame {more}")
    return more


class Count(unittest.TestCase):
    def test_a_frame_costs_what_it_costs_perftest(self):
        own, other = price(ours), price(perftest)
        self.assertEqual(own, {"write": 1})  # one work request and its doorbell; nothing is registered again
        self.assertEqual(own, other)


if __name__ == "__main__":
    unittest.main()
