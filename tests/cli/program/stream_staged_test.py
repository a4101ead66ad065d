"""Frames through host slots of the peer's into others of the program's, without a GPU."""

import unittest

from staged_checks import StagedChecks
from support import ProgramTest, has_cuda, run


class StreamStaged(StagedChecks, ProgramTest):
    api = ["--api", "host"]
    expected_api = "host"

    def test_text_report(self):
        clip = self.clip(3)
        text = run("stream", "--staged", *self.api, clip).out
        self.assertRegex(text, r"(?m)^memory +host, 8 slots")
        self.assertRegex(text, r"(?m)^peer's memory +host, 8 slots")
        self.assertRegex(text, r"(?m)^slices +\d+ bytes or more$")
        self.assertRegex(text, r"(?m)^path +staged \(the peer's slots -> host memory, consumer on the CPU\)$")
        self.assertRegex(text, r"(?m)^moved by +the CPU, between the peer's slots and the program's$")
        text = run("stream", "--staged", *self.api, clip, "--playout").out
        self.assertRegex(text, r"(?m)^path +staged \(the peer's slots <- host memory, consumer on the CPU\)$")

    def test_without_it_the_peer_has_no_memory_of_its_own(self):
        report = run("stream", self.clip(3), "--json").json
        self.assertEqual((report["path"], report["peer_facts"], report["slice_bytes"]), ("direct", None, None))

    @unittest.skipIf(has_cuda(), "this machine has CUDA's driver")
    def test_without_a_gpu_cuda_is_refused_and_auto_is_host(self):
        self.assertFails(run("stream", "--staged", self.clip(1), "--api", "cuda"), 1, "libcuda.so.1: not found")
        self.assertEqual(run("stream", "--staged", self.clip(1), "--json").json["api"], "host")


if __name__ == "__main__":
    unittest.main()
