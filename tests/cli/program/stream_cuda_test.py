"""Frames through the slots of a GPU, on the stand-in of CUDA's driver."""

import os
import signal
import unittest

from support import Y4M_FRAME, ProgramTest, finish, frames, run, start, y4m

HD = ["--pix", "uyvy422", "--size", "1920x1080"]
UHD = ["--pix", "v210", "--size", "3840x2160"]
DIRECTIONS = {"capture": [], "playout": ["--playout"]}
WAYS = [(name, way + source) for name, way in DIRECTIONS.items() for source in ([], ["--preload"])]


class StreamCuda(ProgramTest):
    def report(self, *arguments, code=0, **options):
        outcome = run("stream", "--api", "cuda", *arguments, "--json", **options)
        self.assertEqual(outcome.code, code, f"{arguments}: {outcome.err}")
        return outcome.json

    def test_out_is_the_inputs_frames_in_both_formats(self):
        for picture, size, count in ((HD, 4147200, 12), (UHD, 22118400, 3)):
            payloads = frames(count, size)
            clip = self.file("clip.raw", b"".join(payloads))
            for name, arguments in WAYS:
                report = self.report(clip, *picture, *arguments, "--out", self.path("out"))
                self.assertEqual(self.read("out"), b"".join(payloads))
                self.assertEqual((report["direction"], report["frames"], report["checked"]), (name, count, count))
                self.assertEqual((report["mismatches"], report["drops"]), (0, 0))

    def test_the_report_claims_no_device(self):
        clip = self.file("clip.y4m", y4m(frames(5, Y4M_FRAME)))
        for name, arguments in WAYS:
            report = self.report(clip, *arguments)
            self.assertEqual((report["api"], report["path"], report["moved_by"]), ("cuda", "staged", "software"))
            self.assertEqual(report["facts"]["cuda_memory"], "vmm")
            self.assertEqual(report["proof"]["written" if name == "capture" else "read"], "yes")
            self.assertEqual(report["proof"]["by"], "software")
        text = run("stream", "--api", "cuda", clip).out
        self.assertRegex(text, r"(?m)^memory +cuda vmm, 8 slots of 65536 bytes on rdmagpu software device")
        self.assertRegex(text, r"(?m)^path +staged \(GPU memory, consumer on the CPU\)$")
        self.assertRegex(text, r"(?m)^moved by +a software device in the GPU's place$")

    def test_frames_are_proven_where_they_lie(self):
        clip = self.file("clip.y4m", y4m(frames(20, Y4M_FRAME)))
        for way in ([], ["--preload"], ["--staged"]):
            proof = self.report(clip, "--proof", *way)["frame_proof"]
            self.assertEqual((proof["checked"], proof["stale"], proof["torn"], proof["unchecked"]), (20, 0, 0, 0))
            report = self.report(clip, "--proof=drop", "--peer", "software:tear@6", *way, code=1)
            self.assertEqual((report["frames"], report["frame_proof"]["torn"], report["mismatches"]), (19, 1, 0))

    def test_a_pipe_that_goes_on_for_longer_than_there_are_slots(self):
        payloads = frames(60, Y4M_FRAME)
        for way in DIRECTIONS.values():
            self.report("-", *way, "--slots", 3, "--out", self.path("out"), input=y4m(payloads))
            self.assertEqual(self.read("out"), b"".join(payloads))

    def test_large_frames_and_a_small_bar1_make_a_shallow_ring(self):
        t4 = {"env": {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "t4"}}
        clip = self.file("clip.raw", frames(1, 22118400)[0])
        self.assertEqual(self.report(clip, *UHD, **t4)["facts"]["bar1_slots"], 10)
        self.assertRegex(run("stream", "--api", "cuda", clip, *UHD, **t4).out, r"(?m)^ring +keep it shallow: .* room for 10$")
        refused = self.report(clip, *UHD, "--slots", 12, code=1, **t4)["error"]
        self.assertRegex(refused["hints"][0], "^Keep the ring shallow: 10 slots of .* fit \\(--slots 10\\)")

    def test_one_slot_is_enough(self):
        clip = self.file("clip.y4m", y4m(frames(30, Y4M_FRAME)))
        for _, arguments in WAYS:
            self.assertEqual(self.report(clip, *arguments, "--slots", 1)["mismatches"], 0)

    def test_check_says_which(self):
        clip = self.file("clip.y4m", y4m(frames(31, Y4M_FRAME)))
        for _, arguments in WAYS:
            some = self.report(clip, *arguments, "--check", "sample:10")
            self.assertEqual((some["checked"], some["mismatches"], some["frames"]), (4, 0, 31))
            none = self.report(clip, *arguments, "--check", "none")
            self.assertEqual((none["checked"], none["frames"], none["proof"]["by"]), (0, 31, None))

    def test_frames_that_are_not_checked_are_written_out_all_the_same(self):
        payloads = frames(31, Y4M_FRAME)
        clip = self.file("clip.y4m", y4m(payloads))
        for _, arguments in WAYS:
            self.report(clip, *arguments, "--check", "none", "--out", self.path("out"))
            self.assertEqual(self.read("out"), b"".join(payloads))

    def test_newest_drops_and_never_mixes_up(self):
        clip = self.file("clip.y4m", y4m(frames(50, Y4M_FRAME)))
        for _, arguments in WAYS:
            for check in ("all", "sample:3"):
                report = self.report(clip, *arguments, "--mode", "newest", "--loop=10", "--slots", 3, "--check", check)
                self.assertEqual(report["frames"] + report["drops"], 500)
                self.assertEqual(report["mismatches"], 0)

    def test_a_clock_loses_frames_or_not_but_counts_them(self):
        clip = self.file("clip.y4m", y4m(frames(50, Y4M_FRAME)))
        capture = self.report(clip, "--rate", 5000, "--slots", 2)
        self.assertEqual((capture["frames"] + capture["drops"], capture["mismatches"]), (50, 0))
        playout = self.report(clip, "--rate", 5000, "--slots", 2, "--playout")
        self.assertEqual((playout["frames"], playout["drops"], playout["mismatches"]), (50, 0, 0))

    def test_a_torn_frame_is_found_where_it_is(self):
        clip = self.file("clip.y4m", y4m(frames(20, Y4M_FRAME)))
        for _, arguments in WAYS:
            report = self.report(clip, *arguments, "--peer", "software:tear@6", code=1)
            self.assertEqual((report["frames"], report["mismatches"], report["error"]["kind"]), (20, 1, "Mismatch"))
            found = report["first_mismatches"][0]
            self.assertEqual((found["frame"], found["offset"]), (6, Y4M_FRAME // 2))

    def test_frames_that_went_elsewhere_are_found(self):
        clip = self.file("clip.y4m", y4m(frames(20, Y4M_FRAME)))
        for _, arguments in WAYS:
            # Where nobody else is at the next slot: not one that a frame is read from, or copied to, at that time.
            wrong_slot = "wrong-slot@19" if "--playout" in arguments else "wrong-slot@0"
            for how, mismatches in ((wrong_slot, 1), ("migrate@6", 14)):
                report = self.report(clip, *arguments, "--slots", 32, "--peer", f"software:{how}", code=1)
                self.assertEqual((report["frames"], report["mismatches"]), (20, mismatches))

    def test_a_late_end_is_seen_in_a_paced_capture(self):
        clip = self.file("clip.y4m", y4m(frames(8, Y4M_FRAME)))
        report = self.report(clip, "--rate", 25, "--peer", "software:late@3", code=1)
        self.assertEqual((report["mismatches"], report["late"]), (1, 1))

    def test_a_peer_that_goes_away_is_told(self):
        clip = self.file("clip.y4m", y4m(frames(20, Y4M_FRAME)))
        for way in DIRECTIONS.values():
            report = self.report(clip, *way, "--peer", "software:stop@6", code=1)
            self.assertEqual((report["frames"], report["error"]["kind"]), (6, "PeerStopped"))

    def test_ctrl_c_in_an_endless_loop(self):
        clip = self.file("clip.y4m", y4m(frames(3, Y4M_FRAME)))
        for _, arguments in WAYS:
            process = start("stream", "--api", "cuda", clip, "--loop", "--out", "-", *arguments)
            process.stdout.read(10 * Y4M_FRAME)
            process.send_signal(signal.SIGINT)
            outcome = finish(process)
            self.assertEqual(outcome.code, 130, outcome.err)
            self.assertRegex(outcome.err, r"(?m)^frames +\d+ \(\d+ checked, 0 mismatches\)")


if __name__ == "__main__":
    unittest.main()
