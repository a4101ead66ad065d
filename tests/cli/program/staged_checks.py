"""What `stream --staged` does wherever the program's slots are: tests for a class that names the API."""

import signal

from support import Y4M_FRAME, finish, frames, run, start, y4m

UYVY = ["--pix", "uyvy422", "--size", "192x108"]
V210 = ["--pix", "v210", "--size", "384x216"]
DIRECTIONS = {"capture": [], "playout": ["--playout"]}
WAYS = [(name, way + source) for name, way in DIRECTIONS.items() for source in ([], ["--preload"])]


class StagedChecks:
    api = []
    expected_api = ""

    def report(self, *arguments, code=0, **options):
        outcome = run("stream", "--staged", *self.api, *arguments, "--json", **options)
        self.assertEqual(outcome.code, code, f"{arguments}: {outcome.err}")
        return outcome.json

    def clip(self, count):
        return self.file("clip.y4m", y4m(frames(count, Y4M_FRAME)))

    def test_out_is_the_inputs_frames_in_both_formats(self):
        for picture, size in ((UYVY, 41472), (V210, 221184)):
            payloads = frames(12, size)
            clip = self.file("clip.raw", b"".join(payloads))
            for name, arguments in WAYS:
                report = self.report(clip, *picture, *arguments, "--out", self.path("out"))
                self.assertEqual(self.read("out"), b"".join(payloads))
                self.assertEqual((report["direction"], report["frames"], report["checked"]), (name, 12, 12))
                self.assertEqual((report["mismatches"], report["drops"]), (0, 0))

    def test_the_report_has_both_memories(self):
        clip = self.clip(5)
        for name, arguments in WAYS:
            report = self.report(clip, *arguments)
            self.assertEqual((report["api"], report["path"], report["moved_by"]),
                             (self.expected_api, "staged", "software"))
            self.assertEqual(report["peer_facts"]["slot_count"], report["facts"]["slot_count"])
            self.assertIsNotNone(report["peer_facts"]["memfd"])
            self.assertGreater(report["slice_bytes"], 0)
            self.assertEqual(report["proof"]["written" if name == "capture" else "read"], "yes")
            self.assertEqual(report["proof"]["by"], "software")

    def test_a_pipe_that_goes_on_for_longer_than_there_are_slots(self):
        payloads = frames(40, Y4M_FRAME)
        for way in DIRECTIONS.values():
            for slots in (1, 3):
                self.report("-", *way, "--slots", slots, "--out", self.path("out"), input=y4m(payloads))
                self.assertEqual(self.read("out"), b"".join(payloads))

    def test_loop_and_check(self):
        clip = self.clip(7)
        for _, arguments in WAYS:
            some = self.report(clip, *arguments, "--loop=3", "--check", "sample:10")
            self.assertEqual((some["frames"], some["checked"], some["mismatches"]), (21, 3, 0))

    def test_frames_of_a_few_bytes(self):
        clip = self.file("clip.raw", b"".join(frames(500, 3)))
        for _, arguments in WAYS:
            report = self.report(clip, *arguments, "--bytes", 3)
            self.assertEqual((report["frames"], report["mismatches"]), (500, 0))

    def test_newest_drops_and_never_mixes_up(self):
        clip = self.clip(50)
        for _, arguments in WAYS:
            report = self.report(clip, *arguments, "--mode", "newest", "--loop=4", "--slots", 3)
            self.assertEqual((report["frames"] + report["drops"], report["mismatches"]), (200, 0))

    def test_a_clock_loses_frames_or_not_but_counts_them(self):
        clip = self.clip(50)
        capture = self.report(clip, "--rate", 1000, "--slots", 2)
        self.assertEqual((capture["frames"] + capture["drops"], capture["mismatches"]), (50, 0))
        playout = self.report(clip, "--rate", 1000, "--slots", 2, "--playout")
        self.assertEqual((playout["frames"], playout["drops"], playout["mismatches"]), (50, 0, 0))

    def test_a_torn_frame_is_found_where_it_is(self):
        clip = self.clip(20)
        for _, arguments in WAYS:
            report = self.report(clip, *arguments, "--peer", "software:tear@6", code=1)
            self.assertEqual((report["frames"], report["mismatches"], report["error"]["kind"]), (20, 1, "Mismatch"))
            found = report["first_mismatches"][0]
            self.assertEqual((found["frame"], found["offset"]), (6, Y4M_FRAME // 2))

    def test_frames_that_went_elsewhere_are_found(self):
        clip = self.clip(20)
        for _, arguments in WAYS:
            # Where nobody else is at the next slot: not one that a frame is read from, or copied to, at that time.
            wrong_slot = "wrong-slot@19" if "--playout" in arguments else "wrong-slot@0"
            for how, mismatches in ((wrong_slot, 1), ("migrate@6", 14)):
                report = self.report(clip, *arguments, "--slots", 32, "--peer", f"software:{how}", code=1)
                self.assertEqual((report["frames"], report["mismatches"]), (20, mismatches))

    def test_a_late_end_is_never_copied(self):
        report = self.report(self.clip(8), "--rate", 10, "--peer", "software:late@3", code=1)
        self.assertEqual((report["mismatches"], report["late"], report["torn"]), (1, 0, 1))
        self.assertEqual(report["first_mismatches"][0]["offset"], Y4M_FRAME - 64)

    def test_a_peer_that_goes_away_is_told(self):
        clip = self.clip(20)
        for way in DIRECTIONS.values():
            report = self.report(clip, *way, "--peer", "software:stop@6", code=1)
            self.assertEqual((report["frames"], report["error"]["kind"]), (6, "PeerStopped"))

    def test_ctrl_c_in_an_endless_loop(self):
        clip = self.clip(3)
        for _, arguments in WAYS:
            process = start("stream", "--staged", *self.api, clip, "--loop", "--out", "-", *arguments)
            process.stdout.read(10 * Y4M_FRAME)
            process.send_signal(signal.SIGINT)
            outcome = finish(process)
            self.assertEqual(outcome.code, 130, outcome.err)
            self.assertRegex(outcome.err, r"(?m)^frames +\d+ \(\d+ checked, 0 mismatches\)")
