"""What `stream --proof` finds in the slots' memory, whatever the bytes of the frames are."""

import os
import pty
import re
import subprocess
import unittest

from support import PROGRAM, TIMEOUT, Y4M_FRAME, ProgramTest, frames, run, y4m

WAYS = ([], ["--preload"], ["--staged"], ["--staged", "--preload"])


class StreamProof(ProgramTest):
    def clip(self, count=20):
        return self.file("clip.y4m", y4m(frames(count, Y4M_FRAME)))

    def report(self, *arguments, code=0):
        outcome = run("stream", *arguments, "--json")
        self.assertEqual(outcome.code, code, f"{arguments}: {outcome.err}")
        return outcome.json

    def faults(self, report):
        proof = report["frame_proof"]
        return {name: proof[name] for name in ("stale", "torn", "late", "wrong_offset", "short") if proof[name]}

    def test_a_healthy_peer_has_no_fault(self):
        clip = self.clip()
        for way in WAYS:
            report = self.report(clip, "--proof", "--loop=10", *way)
            self.assertEqual((report["frame_proof"]["checked"], self.faults(report)), (200, {}))
            self.assertEqual((report["frame_proof"]["on_fault"], report["mismatches"]), ("report", 0))

    def test_newest_has_none_either(self):
        clip = self.clip()
        for way in WAYS:
            report = self.report(clip, "--proof=drop", "--loop=10", "--mode", "newest", "--slots", 3, *way)
            self.assertEqual((self.faults(report), report["mismatches"]), ({}, 0))

    def test_one_frame_again_and_again_is_no_stale_one(self):
        clip = self.file("clip.y4m", y4m([b"\x10" * Y4M_FRAME] * 3))
        for way in WAYS:
            self.assertEqual(self.faults(self.report(clip, "--proof", "--loop=20", *way)), {})

    def test_a_torn_frame_is_reported_without_a_look_at_the_source(self):
        clip = self.clip()
        for way in WAYS:
            report = self.report(clip, "--proof", "--check", "none", "--peer", "software:tear@6", *way, code=1)
            self.assertEqual((report["frames"], self.faults(report)), (20, {"torn": 1}))
            self.assertEqual(report["error"]["kind"], "FrameFault")
            self.assertIn("1 torn", report["error"]["message"])

    def test_or_dropped(self):
        clip = self.clip()
        for way in WAYS:
            report = self.report(clip, "--proof=drop", "--peer", "software:tear@6", *way, code=1)
            self.assertEqual((report["frames"], report["drops"], self.faults(report)), (19, 1, {"torn": 1}))
            self.assertEqual((report["mismatches"], report["frame_proof"]["on_fault"]), (0, "drop"))

    def test_a_late_end_is_torn_and_then_late(self):
        for way in ([], ["--staged"]):
            report = self.report(self.clip(8), "--proof", "--rate", 10, "--check", "none", "--peer", "software:late@3",
                                 *way, code=1)
            self.assertEqual(self.faults(report), {"torn": 1, "late": 1})

    def test_writes_to_other_places_are_found(self):
        clip = self.clip(8)
        fills_its_slot = self.file("clip.raw", b"".join(frames(8, 65536)))
        expected = (
            ([clip, "--peer", "software:overrun@3"], {"wrong_offset": 1}),
            ([fills_its_slot, "--bytes", 65536, "--peer", "software:overrun-slot@3"], {"wrong_offset": 1}),
            ([clip, "--peer", "software:wrong-slot@3"], {"stale": 1, "wrong_offset": 1}),
            ([clip, "--peer", "software:migrate@3"], {"stale": 5}),
        )
        for arguments, faults in expected:
            for way in ([], ["--staged"]):
                # With a clock the other slots are free by then.
                report = self.report(*arguments, "--proof", "--rate", 100, "--check", "none", *way, code=1)
                self.assertEqual((report["frames"], self.faults(report)), (8, faults), arguments)

    def test_a_direct_path_fails_over_and_every_frame_arrives(self):
        clip = self.clip()
        content = self.read("clip.y4m")
        payloads = [part for part in content.split(b"FRAME\n")][1:]
        for wrong in ("tear", "overrun", "migrate"):
            for way in ([], ["--preload"]):
                report = self.report(clip, "--proof=fail-over", "--peer", f"software:{wrong}@6", "--out", self.path("out"),
                                     *way, code=1)
                self.assertEqual((report["frames"], report["drops"], report["mismatches"]), (20, 0, 0), wrong)
                self.assertEqual((report["path"], report["frame_proof"]["failed_over"]), ("direct", True))
                self.assertEqual(self.read("out"), b"".join(payloads))
        report = self.report(clip, "--proof=fail-over")
        self.assertEqual((report["path"], report["frame_proof"]["failed_over"], self.faults(report)), ("direct", False, {}))
        text = run("stream", clip, "--proof=fail-over", "--peer", "software:migrate@6").out
        self.assertRegex(text, r"(?m)^path +direct \(host memory, consumer on the CPU\), then staged")
        self.assertRegex(text, r"(?m)^frame proof +21 frames looked at, 1 stale; failed over$")

    def test_text_report(self):
        clip = self.clip()
        self.assertRegex(run("stream", clip, "--proof").out, r"(?m)^frame proof +20 frames looked at, no fault$")
        torn = run("stream", clip, "--proof=drop", "--peer", "software:tear@6")
        self.assertRegex(torn.out, r"(?m)^frame proof +20 frames looked at, 1 torn; faulty ones are dropped$")
        self.assertFails(torn, 1, "the peer did not write as it said: 1 torn")
        self.assertNotIn("frame proof", run("stream", clip).out)
        self.assertIsNone(self.report(clip)["frame_proof"])

    def test_live_line_tells_of_faults(self):
        ours, its = pty.openpty()
        clip = self.clip(40)
        process = subprocess.Popen([PROGRAM, "stream", clip, "--proof", "--rate", "40", "--peer", "software:tear@1"],
                                   stdout=subprocess.DEVNULL, stderr=its)
        os.close(its)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:
            pass  # the other end is closed
        os.close(ours)
        self.assertEqual(process.wait(TIMEOUT), 1)
        self.assertTrue(re.search(rb"  1 fault\b", shown), shown)

    def test_bad_command_lines(self):
        clip = self.clip()
        self.assertFails(run("stream", clip, "--proof", "--playout"), 2, "--proof", "leaves no trace")
        self.assertFails(run("stream", clip, "--proof=all"), 2, "--proof", "'all' is neither report, drop nor fail-over")
        self.assertFails(run("stream", clip, "--proof=fail-over", "--staged"), 2, "--staged", "what it fails over to")
        tiny = self.file("clip.raw", b"abc" * 5)
        self.assertFails(run("stream", tiny, "--bytes", 3, "--proof"), 1, "room for one canary", "asked 3")


if __name__ == "__main__":
    unittest.main()
