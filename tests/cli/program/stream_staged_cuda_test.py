"""Frames through host slots of the peer's into a GPU's, on the stand-in of CUDA's driver."""

import os
import unittest

from staged_checks import StagedChecks
from support import ProgramTest, run


class StreamStagedCuda(StagedChecks, ProgramTest):
    api = ["--api", "cuda"]
    expected_api = "cuda"

    def test_the_peers_slots_are_pinned(self):
        report = self.report(self.clip(3))
        self.assertEqual(report["facts"]["cuda_memory"], "vmm")
        self.assertEqual((report["peer_facts"]["pinned_by"], report["peer_facts"]["cuda_memory"]), ("cuda", None))

    def test_text_report(self):
        text = run("stream", "--staged", *self.api, self.clip(3)).out
        self.assertRegex(text, r"(?m)^memory +cuda vmm, 8 slots of 65536 bytes on rdmagpu software device")
        self.assertRegex(text, r"(?m)^peer's memory +host, 8 slots")
        self.assertRegex(text, r"(?m)^path +staged \(the peer's slots -> GPU memory, consumer on the CPU\)$")
        self.assertRegex(text, r"(?m)^moved by +a software device in the GPU's place$")

    def test_a_path_that_fails_over_loses_no_frame(self):
        for wrong in ("tear", "overrun", "migrate"):
            outcome = run("stream", self.clip(20), *self.api, "--proof=fail-over", "--peer", f"software:{wrong}@6", "--json")
            report = outcome.json
            self.assertEqual((outcome.code, report["frames"], report["drops"], report["mismatches"]), (1, 20, 0, 0), wrong)
            self.assertTrue(report["frame_proof"]["failed_over"])

    def test_auto_is_a_gpu_even_without_rdma(self):
        geforce = {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "geforce"}
        outcome = run("stream", "--staged", self.clip(3), "--json", env=geforce)
        self.assertEqual((outcome.code, outcome.json["api"], outcome.json["mismatches"]), (0, "cuda", 0))

    def test_without_a_gpu_cuda_is_refused_and_auto_is_host(self):
        none = {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "no-device"}
        self.assertFails(run("stream", "--staged", *self.api, self.clip(1), env=none), 1, "CUDA_ERROR_NO_DEVICE")
        self.assertEqual(run("stream", "--staged", self.clip(1), "--json", env=none).json["api"], "host")


if __name__ == "__main__":
    unittest.main()
