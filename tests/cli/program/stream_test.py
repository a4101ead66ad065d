"""The main job: frames through slots, both ways."""

import os
import pty
import signal
import time
import unittest

from support import Y4M_FRAME, ProgramTest, finish, frames, has_cuda, run, start, y4m

DIRECTIONS = {"capture": [], "playout": ["--playout"]}


class Stream(ProgramTest):
    @staticmethod
    def each_direction():
        return [(name, arguments + source) for name, arguments in DIRECTIONS.items() for source in ([], ["--preload"])]

    def report(self, *arguments, code=0, **options):
        outcome = run("stream", *arguments, "--json", **options)
        self.assertEqual(outcome.code, code, f"{arguments}: {outcome.err}")
        return outcome.json

    def test_out_is_the_inputs_frames(self):
        payloads = frames(40, Y4M_FRAME)
        clip = self.file("clip.y4m", y4m(payloads))
        for name, arguments in self.each_direction():
            report = self.report(clip, *arguments, "--out", self.path("out"))
            self.assertEqual(self.read("out"), b"".join(payloads))
            self.assertEqual((report["direction"], report["api"], report["path"]), (name, "host", "direct"))
            self.assertEqual((report["frames"], report["checked"]), (40, 40))
            self.assertEqual((report["mismatches"], report["drops"], report["underruns"]), (0, 0, 0))
            self.assertEqual(report["bytes"], 40 * Y4M_FRAME)
            proven, untried = ("written", "read") if name == "capture" else ("read", "written")
            self.assertEqual((report["proof"][proven], report["proof"][untried]), ("yes", "not-tried"))
            self.assertEqual(report["proof"]["by"], "software")
            latency = report["latency_ns"]
            self.assertTrue(0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["max"], latency)

    def test_a_pipe(self):
        payloads = frames(20, Y4M_FRAME)
        for _, arguments in self.each_direction():
            report = self.report("-", *arguments, "--out", self.path("out"), input=y4m(payloads))
            self.assertEqual(report["frames"], 20)
            self.assertEqual(self.read("out"), b"".join(payloads))

    def test_the_wait_for_the_peer_to_start_is_no_latency(self):
        payloads = frames(4, Y4M_FRAME)
        process = start("stream", "-", "--playout", "--slots", 2, "--json")
        process.stdin.write(y4m(payloads[:1]))
        process.stdin.flush()
        time.sleep(0.3)  # the first frame waits in its slot for the second to fill
        outcome = finish(process, input=y4m(payloads[1:], b"")[len(b"YUV4MPEG2 \n"):])
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertLessEqual(outcome.json["latency_ns"]["max"], outcome.json["seconds"] * 1e9 + 1)

    def test_raw_frames(self):
        payloads = frames(5, 2 * 64 * 48)
        clip = self.file("clip.raw", b"".join(payloads))
        for arguments in (["--pix", "uyvy422", "--size", "64x48"], ["--bytes", 2 * 64 * 48], ["--bytes", "6K"]):
            report = self.report(clip, *arguments, "--out", self.path("out"))
            self.assertEqual(report["frames"], 5)
            self.assertEqual(self.read("out"), b"".join(payloads))

    def test_one_slot_is_enough(self):
        clip = self.file("clip.y4m", y4m(frames(30, Y4M_FRAME)))
        for _, arguments in self.each_direction():
            self.assertEqual(self.report(clip, *arguments, "--slots", 1)["mismatches"], 0)

    def test_frames_smaller_than_a_cache_line(self):
        clip = self.file("clip.raw", b"".join(frames(20000, 3)))
        for _, arguments in self.each_direction():
            report = self.report(clip, *arguments, "--bytes", 3)
            self.assertEqual((report["frames"], report["mismatches"]), (20000, 0))

    def test_loop(self):
        payloads = frames(7, Y4M_FRAME)
        clip = self.file("clip.y4m", y4m(payloads))
        for _, arguments in self.each_direction():
            self.report(clip, *arguments, "--loop=3", "--out", self.path("out"))
            self.assertEqual(self.read("out"), b"".join(payloads) * 3)
            self.report(clip, *arguments, "--loop", "--frames", 24, "--out", self.path("out"))
            self.assertEqual(self.read("out"), b"".join(payloads) * 3 + b"".join(payloads[:3]))

    def test_a_pipe_loops_when_it_is_preloaded(self):
        report = self.report("-", "--preload", "--loop=4", input=y4m(frames(5, Y4M_FRAME)))
        self.assertEqual(report["frames"], 20)

    def test_a_pipe_cannot_loop_otherwise(self):
        self.assertFails(run("stream", "-", "--loop=4", input=y4m(frames(5, Y4M_FRAME))), 1, "--loop", "--preload")

    def test_frames_limits(self):
        clip = self.file("clip.y4m", y4m(frames(30, Y4M_FRAME)))
        for _, arguments in self.each_direction():
            self.assertEqual(self.report(clip, *arguments, "--frames", 11)["frames"], 11)

    def test_check_says_which(self):
        clip = self.file("clip.y4m", y4m(frames(31, Y4M_FRAME)))
        for _, arguments in self.each_direction():
            self.assertEqual(self.report(clip, *arguments, "--check", "sample:10")["checked"], 4)
            unchecked = self.report(clip, *arguments, "--check", "none")
            self.assertEqual((unchecked["checked"], unchecked["frames"]), (0, 31))
            self.assertEqual((unchecked["proof"]["written"], unchecked["proof"]["read"]), ("not-tried", "not-tried"))

    def test_newest_drops_and_never_mixes_up(self):
        clip = self.file("clip.y4m", y4m(frames(50, Y4M_FRAME)))
        for _, arguments in self.each_direction():
            for check in ("all", "sample:3"):
                report = self.report(clip, *arguments, "--mode", "newest", "--loop=20", "--slots", 3, "--check", check)
                self.assertEqual(report["frames"] + report["drops"], 1000)
                self.assertEqual(report["mismatches"], 0)

    def test_a_clock_loses_frames_or_not_but_counts_them(self):
        clip = self.file("clip.y4m", y4m(frames(50, Y4M_FRAME)))
        capture = self.report(clip, "--rate", 5000, "--slots", 2)
        self.assertEqual(capture["frames"] + capture["drops"], 50)
        self.assertEqual(capture["mismatches"], 0)
        playout = self.report(clip, "--rate", 5000, "--slots", 2, "--playout")
        self.assertEqual((playout["frames"], playout["drops"], playout["mismatches"]), (50, 0, 0))

    def test_a_clock_keeps_its_time(self):
        clip = self.file("clip.y4m", y4m(frames(16, Y4M_FRAME), b"W64 H48 F60:1"))
        for _, arguments in self.each_direction():
            for rate in ("60", "input", "60/1"):
                # The last of 16 frames is due 15 sixtieths of a second after the first.
                self.assertGreaterEqual(self.report(clip, *arguments, "--rate", rate)["seconds"], 0.249)

    def test_rate_input_needs_an_input_that_says_one(self):
        raw = self.file("clip.raw", bytes(1000))
        self.assertFails(run("stream", raw, "--bytes", 100, "--rate", "input"), 1, "--rate input", "hint: Name the rate")

    def test_a_backend_that_is_not_in_this_build(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        self.assertFails(run("stream", clip, "--api", "hip"), 1, "no hip backend", "host")

    @unittest.skipIf(has_cuda(), "this machine has CUDA's driver")
    def test_a_gpus_slots_without_cuda(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        self.assertFails(run("stream", clip, "--api", "cuda"), 1, "libcuda.so.1: not found", "hint: Install NVIDIA's")

    def test_a_peer_that_is_not_in_this_build(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        self.assertFails(run("stream", clip, "--peer", "verbs:rxe0"), 1, "no peer 'verbs:rxe0'")

    def test_text_report(self):
        clip = self.file("clip.y4m", y4m(frames(3, Y4M_FRAME)))
        outcome = run("stream", clip)
        self.assertEqual((outcome.code, outcome.err), (0, ""))
        for line in (r"input +.*clip.y4m \(Y4M 64x48 yuv420p 30/1 fps\)",
                     r"direction +capture: software peer -> slots -> CPU, fifo", r"frames +3 \(3 checked, 0 mismatches\)",
                     r"drops +0", r"throughput +.* fps, .* GB/s", r"latency +p50 .*, p95 .*, p99 .*, max ",
                     r"memory +host, 8 slots", r"path +direct \(host memory, consumer on the CPU\)",
                     r"moved by +the CPU, which the peer runs on",
                     r"proof +allocated, written by a software device"):
            self.assertRegex(outcome.out, f"(?m)^{line}")

    def test_frames_on_stdout_send_the_report_to_stderr(self):
        payloads = frames(3, Y4M_FRAME)
        outcome = run("stream", "-", "--out", "-", input=y4m(payloads))
        self.assertEqual(outcome.code, 0)
        self.assertEqual(outcome.bytes, b"".join(payloads))
        self.assertRegex(outcome.err, r"(?m)^frames +3 ")


class Damage(ProgramTest):
    def setUp(self):
        super().setUp()
        self.clip = self.file("clip.y4m", y4m(frames(20, Y4M_FRAME)))

    def test_a_torn_frame_is_found_where_it_is(self):
        for arguments in DIRECTIONS.values():
            outcome = run("stream", self.clip, "--json", "--slots", 4, "--peer", "software:tear@6", *arguments)
            self.assertFails(outcome, 1, "1 of 20 checked frames", "frame 6, slot ")
            report = outcome.json
            self.assertEqual((report["frames"], report["mismatches"], report["torn"]), (20, 1, 1))
            found = report["first_mismatches"]
            self.assertEqual((found[0]["frame"], found[0]["offset"], found[0]["damage"]), (6, Y4M_FRAME // 2, "torn"))
            self.assertIn(found[0]["slot"], range(4))
            self.assertEqual(report["error"]["kind"], "Mismatch")
            self.assertIn("no", (report["proof"]["written"], report["proof"]["read"]))

    def damaged(self, how, *arguments):
        """The report of a peer that does so, with a slot for every frame: none holds one that is yet to be checked."""
        outcome = run("stream", self.clip, "--json", "--slots", 32, "--peer", f"software:{how}", *arguments)
        self.assertEqual(outcome.code, 1 if outcome.json["mismatches"] else 0, outcome.err)
        return outcome.json

    def test_a_frame_in_a_wrong_slot_is_found(self):
        for arguments in DIRECTIONS.values():
            report = self.damaged("wrong-slot@0", *arguments)
            self.assertEqual((report["frames"], report["mismatches"]), (20, 1))
            found = report["first_mismatches"][0]
            self.assertEqual((found["frame"], found["slot"], found["offset"]), (0, 0, 0))

    def test_frames_of_a_peer_whose_memory_was_moved_are_all_found(self):
        for arguments in DIRECTIONS.values():
            report = self.damaged("migrate@6", *arguments)
            self.assertEqual((report["frames"], report["mismatches"]), (20, 14))
            self.assertEqual([found["frame"] for found in report["first_mismatches"]], list(range(6, 14)))

    def test_what_is_done_behind_a_frame_is_not_found(self):
        for arguments in (["overrun@6"], ["overrun-slot@0"], ["overrun-slot@6", "--playout"]):
            report = self.damaged(*arguments)
            self.assertEqual((report["frames"], report["checked"], report["mismatches"]), (20, 20, 0), arguments)

    def test_a_byte_too_many_that_is_played_out_is_found(self):
        report = self.damaged("overrun@6", "--playout")
        self.assertEqual(report["mismatches"], 1)
        found = report["first_mismatches"][0]
        self.assertEqual((found["frame"], found["offset"]), (6, Y4M_FRAME))

    def test_a_frame_in_a_slot_that_is_held_is_lost(self):
        for arguments, drops in (([], 1), (["--playout"], 0)):
            report = self.damaged("hold@6", *arguments)
            self.assertEqual((report["frames"], report["mismatches"], report["drops"]), (19, 0, drops))

    def test_a_frame_that_is_not_checked_is_not_found(self):
        outcome = run("stream", self.clip, "--peer", "software:tear@6", "--check", "sample:4")
        self.assertEqual(outcome.code, 0, outcome.err)

    def test_a_peer_that_goes_away_is_told(self):
        for arguments in DIRECTIONS.values():
            outcome = run("stream", self.clip, "--json", "--peer", "software:stop@6", *arguments)
            self.assertFails(outcome, 1, "stopped without a word")
            self.assertEqual((outcome.json["frames"], outcome.json["error"]["kind"]), (6, "PeerStopped"))

    def test_a_peer_that_goes_away_is_told_where_frames_were_skipped(self):
        arguments = ["--preload", "--loop", "--mode", "newest", "--peer", "software:stop@3000"]
        outcome = run("stream", self.clip, "--json", *arguments)
        self.assertFails(outcome, 1, "stopped without a word")
        self.assertEqual(outcome.json["frames"] + outcome.json["drops"], 3000)
        self.assertGreater(outcome.json["drops"], 0)


class Interrupt(ProgramTest):
    def stalled(self, *arguments, **options):
        """A stream that has put out three frames and waits for its input."""
        payloads = frames(3, Y4M_FRAME)
        process = start("stream", "-", "--out", "-", *arguments, **options)
        # The fourth has begun, so that the reader is in its middle.
        process.stdin.write(y4m(payloads) + b"FRAME\n123")
        process.stdin.flush()
        self.assertEqual(process.stdout.read(3 * Y4M_FRAME), b"".join(payloads))
        return process

    def test_ctrl_c_reports_what_was_done(self):
        # A peer that plays out starts when every slot is filled.
        for arguments in ([], ["--playout", "--slots", "2"]):
            process = self.stalled(*arguments)
            process.send_signal(signal.SIGINT)
            outcome = finish(process)
            self.assertEqual(outcome.code, 130, outcome.err)
            self.assertRegex(outcome.err, r"(?m)^frames +3 \(3 checked, 0 mismatches\)")

    def test_sigterm_and_a_terminal_that_goes_away_do_too(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = self.stalled(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
            process.send_signal(number)
            outcome = finish(process)
            self.assertEqual(outcome.code, 128 + number)
            self.assertRegex(outcome.err, r"(?m)^frames +3 ")

    def test_shell_and_kernel_may_both_tell_that_the_terminal_went_away(self):
        process = self.stalled(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(finish(process).code, 129)

    def test_nohup_is_heeded(self):
        process = self.stalled(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        outcome = finish(process, input=bytes(Y4M_FRAME - 3))
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertRegex(outcome.err, r"(?m)^frames +4 ")

    def test_ctrl_c_while_the_input_is_preloaded(self):
        process = start("stream", "-", "--preload", "--json")
        process.stdin.write(y4m(frames(3, Y4M_FRAME)))
        process.stdin.flush()
        while not self.waits(process):
            pass
        process.send_signal(signal.SIGINT)
        outcome = finish(process)
        self.assertEqual((outcome.code, outcome.err), (130, ""))
        report = outcome.json
        self.assertEqual((report["frames"], report["interrupted"], report["api"]), (0, True, "host"))
        self.assertIn("64x48", report["input"])
        self.assertEqual(set(report["latency_ns"].values()), {None})
        self.assertNotIn("error", report)

    def test_ctrl_c_before_the_input_says_what_it_is(self):
        os.mkfifo(self.path("nobody-writes"))
        for arguments in (["-"], [self.path("nobody-writes"), "--playout"]):
            text, json = self.interrupted_at_once(*arguments), self.interrupted_at_once(*arguments, "--json").json
            self.assertRegex(text.out, r"(?m)^frames +0 \(0 checked, 0 mismatches\), then interrupted\n")
            self.assertRegex(text.out, r"(?m)^memory +none yet\n")
            self.assertRegex(text.out, r"(?m)^throughput +not measured\nlatency +not measured\n")
            self.assertEqual((json["input"], json["frames"], json["interrupted"]), (arguments[0], 0, True))
            self.assertEqual((json["api"], json["path"], json["facts"]), (None, None, None))
            self.assertNotIn("error", json)

    def interrupted_at_once(self, *arguments):
        process = start("stream", *arguments)
        while not self.waits(process):
            pass
        process.send_signal(signal.SIGINT)
        outcome = finish(process)
        self.assertEqual((outcome.code, outcome.err), (130, ""))
        return outcome

    @staticmethod
    def waits(process):
        """It has a handler for the signal, and sleeps for want of input."""
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        caught = int(status["SigCgt"], 16) >> (signal.SIGINT - 1) & 1
        return caught and status["State"].startswith("S")

    def test_ctrl_c_in_an_endless_loop(self):
        clip = self.file("clip.y4m", y4m(frames(3, Y4M_FRAME)))
        for arguments in ([], ["--playout"], ["--preload"], ["--playout", "--preload"]):
            process = start("stream", clip, "--loop", "--out", "-", *arguments)
            process.stdout.read(10 * Y4M_FRAME)
            process.send_signal(signal.SIGINT)
            outcome = finish(process)
            self.assertEqual(outcome.code, 130, outcome.err)
            self.assertRegex(outcome.err, r"(?m)^frames +\d+ \(\d+ checked, 0 mismatches\)")


class Progress(ProgramTest):
    def on_terminal(self, *arguments):
        """What a terminal on stderr is shown."""
        ours, theirs = pty.openpty()
        process = start("stream", *arguments, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # how a terminal says that nobody is left to write
            pass
        os.close(ours)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        return shown.decode()

    def test_a_terminal_gets_a_live_line_that_is_gone_at_the_end(self):
        clip = self.file("clip.y4m", y4m(frames(40, Y4M_FRAME)))
        for arguments, losses in (([], "drops"), (["--playout"], "underruns")):
            shown = self.on_terminal(clip, "--rate", "50", *arguments)
            self.assertRegex(shown, rf"\d+ frames  [\d.]+ fps  [\d.]+ GB/s  \d+ {losses}  p50 .* p99 ")
            self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown))
            self.assertNotIn("\n", shown)

    def test_no_terminal_gets_none(self):
        clip = self.file("clip.y4m", y4m(frames(20, Y4M_FRAME)))
        self.assertEqual(run("stream", clip, "--rate", "40").err, "")


if __name__ == "__main__":
    unittest.main()
