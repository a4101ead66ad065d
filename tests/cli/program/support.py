"""Runs the program that was built and makes frames for it. RDMAGPU names the program."""

import ctypes
import json
import os
import random
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["RDMAGPU"]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# Only against a hang: a machine that is busy, or a sanitizer, may be slow.
TIMEOUT = 300


class Outcome:
    def __init__(self, code, out, err):
        self.code = code
        self.bytes = out
        self.err = err.decode(errors="replace") if err is not None else ""

    @property
    def out(self):
        return self.bytes.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.out)


def run(*arguments, **options):
    """Runs the program to its end; `input` is what its standard input holds."""
    options.setdefault("input", b"")
    done = subprocess.run([PROGRAM, *map(str, arguments)], stdout=options.pop("stdout", subprocess.PIPE),
                          stderr=subprocess.PIPE, timeout=TIMEOUT, **options)
    return Outcome(done.returncode, done.stdout, done.stderr)


def start(*arguments, **options):
    options.setdefault("stdin", subprocess.PIPE)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([PROGRAM, *map(str, arguments)], **options)


def finish(process, **options):
    out, err = process.communicate(timeout=TIMEOUT, **options)
    return Outcome(process.returncode, out, err)


def frames(count, size, seed=1):
    """Frames of noise, no two alike."""
    source = random.Random(seed)
    return [source.randbytes(size) for _ in range(count)]


def y4m(payloads, header=b"W64 H48 F30:1 C420jpeg"):
    """A Y4M stream of frames of 64x48 in yuv420p, or whatever the header says."""
    return b"YUV4MPEG2 " + header + b"\n" + b"".join(b"FRAME\n" + payload for payload in payloads)


Y4M_FRAME = 64 * 48 * 3 // 2


def has_cuda():
    """Whether CUDA's driver is installed."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own for files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def assertFails(self, outcome, code, *texts):
        self.assertEqual(outcome.code, code, outcome.err)
        for text in texts:
            self.assertIn(text, outcome.err)
