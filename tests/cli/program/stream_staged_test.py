"""Frames that are staged between the peer's slots and the application's: on the stand-in of CUDA's driver, and on
host memory alone."""

import os
import unittest

from support import Y4M_FRAME, ProgramTest, frames, run, y4m

WAYS = {"capture": [], "playout": ["--playout"]}
NO_DRIVER = {**os.environ, "LD_LIBRARY_PATH": ""}


class StreamStaged(ProgramTest):
    def report(self, *arguments, code=0, **options):
        outcome = run("stream", "--staged", *arguments, "--json", **options)
        self.assertEqual(outcome.code, code, f"{arguments}: {outcome.err}")
        return outcome.json

    def test_out_is_the_inputs_frames_on_a_gpu_and_on_host_memory(self):
        payloads = frames(12, 4147200)
        clip = self.file("clip.raw", b"".join(payloads))
        for api, memory in (("cuda", "vmm"), ("host", None), ("auto", "vmm")):
            for name, way in WAYS.items():
                picture = ["--pix", "uyvy422", "--size", "1920x1080"]
                report = self.report(clip, *picture, "--api", api, *way, "--out", self.path("out"))
                self.assertEqual(self.read("out"), b"".join(payloads))
                self.assertEqual((report["direction"], report["path"]), (name, "staged"))
                self.assertEqual((report["frames"], report["mismatches"], report["drops"]), (12, 0, 0))
                self.assertEqual(report["facts"]["cuda_memory"], memory)

    def test_the_report_has_the_memory_of_both_sides(self):
        clip = self.file("clip.y4m", y4m(frames(5, Y4M_FRAME)))
        report = self.report(clip, "--api", "cuda")
        self.assertEqual(report["facts"]["rdma_capable"], "no", "no peer needs to reach it")
        self.assertEqual(report["peer_facts"]["pinned_by"], "cuda")
        self.assertEqual(report["peer_facts"]["device"], "host memory")
        self.assertGreater(report["slice_bytes"], 0)
        text = run("stream", "--staged", "--api", "cuda", clip).out
        self.assertRegex(text, r"(?m)^peer memory +host, 8 slots")
        self.assertRegex(text, r"(?m)^path +staged \(peer in host memory, application in GPU memory; slices of ")
        direct = run("stream", "--api", "host", clip, "--json").json
        self.assertEqual((direct["peer_facts"], direct["slice_bytes"]), (None, None))

    def test_what_the_peer_does_wrong_is_found(self):
        clip = self.file("clip.y4m", y4m(frames(9, Y4M_FRAME)))
        for how in ("tear", "late"):
            report = self.report(clip, "--api", "cuda", "--rate", "100", "--peer", f"software:{how}@3", code=1)
            self.assertEqual((report["mismatches"], report["first_mismatches"][0]["frame"]), (1, 3), how)

    def test_a_peer_that_stops_is_told(self):
        clip = self.file("clip.y4m", y4m(frames(9, Y4M_FRAME)))
        for way in WAYS.values():
            report = self.report(clip, "--api", "cuda", *way, "--peer", "software:stop@3", code=1)
            self.assertEqual(report["error"]["kind"], "PeerStopped")

    def test_newest_drops_and_never_mixes(self):
        clip = self.file("clip.y4m", y4m(frames(200, Y4M_FRAME)))
        report = self.report(clip, "--api", "cuda", "--mode", "newest", "--slots", "3")
        self.assertEqual((report["frames"] + report["drops"], report["mismatches"]), (200, 0))

    def test_without_a_driver(self):
        clip = self.file("clip.y4m", y4m(frames(5, Y4M_FRAME)))
        refused = run("stream", "--staged", "--api", "cuda", clip, "--json", env=NO_DRIVER)
        self.assertEqual((refused.code, refused.json["error"]["call"]), (1, "libcuda.so.1"))
        report = self.report(clip, env=NO_DRIVER)
        self.assertEqual((report["api"], report["path"], report["mismatches"]), ("host", "staged", 0))


if __name__ == "__main__":
    unittest.main()
