"""Bad input and output: exit status 1, the value and the rule, and the frames done so far."""

import os
import unittest

from support import Y4M_FRAME, ProgramTest, finish, frames, run, start, y4m


class BadInput(ProgramTest):
    def refused(self, content, arguments, *texts, kind=None, code=1):
        """Before any frame."""
        outcome = run("stream", self.file("clip", content), *arguments, "--json")
        self.assertFails(outcome, code, "rdmagpu: stream: ", *texts)
        self.assertEqual(set(outcome.json), {"error"})
        if kind:
            self.assertEqual(outcome.json["error"]["kind"], kind)

    def test_no_such_file(self):
        self.assertFails(run("stream", self.path("absent")), 1, "absent", "No such file")

    def test_a_folder(self):
        self.assertFails(run("stream", self.folder), 1, "Is a directory")

    def test_an_empty_file(self):
        self.refused(b"", [], "is empty", kind="Empty")

    def test_raw_frames_of_unknown_size(self):
        self.refused(bytes(100), [], "--pix", "--size")

    def test_broken_y4m_headers(self):
        for header, text in [(b"W64", "height"), (b"W0 H48", "'0'"), (b"W64 H48 C999", "'999'"),
                             (b"W99999999 H48", "99999999"), (b"W64 H48 F0:0:0", "F"),
                             (b"", "parameters W and H are missing"), (b"W64 W32 H48", "parameter W comes twice")]:
            with self.subTest(header=header):
                self.refused(b"YUV4MPEG2 " + header + b"\nFRAME\n", [], "broken Y4M header", text, kind="BadFormat")

    def test_a_header_of_one_word(self):
        self.refused(b"YUV4MPEG2\n", [], "broken Y4M header", "parameters W and H are missing", kind="BadFormat")

    def test_a_header_without_an_end(self):
        self.refused(b"YUV4MPEG2", [], "Y4M header", kind="Truncated")
        self.refused(b"YUV4MPEG2 W64 H48", [], "Y4M header", kind="Truncated")

    def test_options_that_do_not_go_together_are_a_wrong_command_line(self):
        for arguments, text in [(["--pix", "gray"], "--pix gray needs --size"), (["--size", "5x2"], "--size 5x2 needs --pix"),
                                (["--pix", "gray", "--bytes", "10"], "--bytes 10 says enough"),
                                (["--pix", "gray", "--size", "5x2", "--bytes", "9"], "--bytes 9 contradicts"),
                                (["--pix", "uyvy422", "--size", "5x2"], "5x2 uyvy422: the width must be even")]:
            with self.subTest(arguments=arguments):
                self.refused(bytes(100), arguments, text, "hint: 'rdmagpu stream --help'", kind="Usage", code=2)

    def test_y4m_needs_no_companions(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        for arguments in (["--pix", "yuv420p"], ["--size", "64x48"]):
            self.assertEqual(run("stream", clip, *arguments).code, 0)

    def test_a_file_that_does_not_divide(self):
        self.refused(bytes(1001), ["--bytes", "100"], "1001", "100")

    def test_options_that_contradict_the_file(self):
        self.refused(y4m(frames(1, Y4M_FRAME)), ["--size", "32x32"], "contradicts", kind="Contradiction")

    def test_frames_too_large_for_this_machine(self):
        self.refused(y4m([], b"W65536 H65536 C444p16"), ["--slots", "100"], "available")


class BadInTheMiddle(ProgramTest):
    def test_frames_so_far_are_reported(self):
        good = frames(5, Y4M_FRAME)
        for content, text, kind in [(y4m(good) + b"FRAME\n123", "frame 5 is truncated", "Truncated"),
                                    (y4m(good) + b"FRANE\n" + good[0], "frame 5 must begin", "BadFormat")]:
            for arguments in ([], ["--playout"]):
                with self.subTest(text=text, arguments=arguments):
                    outcome = run("stream", "-", "--json", "--out", self.path("out"), *arguments, input=content)
                    self.assertFails(outcome, 1, "standard input", text)
                    self.assertEqual((outcome.json["frames"], outcome.json["mismatches"]), (5, 0))
                    self.assertEqual(outcome.json["error"]["kind"], kind)
                    self.assertEqual(self.read("out"), b"".join(good))

    def test_preload_refuses_before_the_first_frame(self):
        outcome = run("stream", "-", "--preload", "--json", input=y4m(frames(5, Y4M_FRAME)) + b"FRAME\n123")
        self.assertFails(outcome, 1, "frame 5 is truncated")
        self.assertNotIn("frames", outcome.json)

    def test_a_raw_pipe_that_ends_in_a_frame(self):
        outcome = run("stream", "-", "--bytes", 100, input=bytes(250))
        self.assertFails(outcome, 1, "frame 2 is truncated")
        self.assertRegex(outcome.out, r"(?m)^frames +2 ")


class BadOutput(ProgramTest):
    def setUp(self):
        super().setUp()
        self.clip = self.file("clip.y4m", y4m(frames(30, Y4M_FRAME)))

    def test_a_full_disk(self):
        for arguments in ([], ["--playout"], ["--preload"]):
            outcome = run("stream", self.clip, "--json", "--out", "/dev/full", *arguments)
            self.assertFails(outcome, 1, "/dev/full", "No space left on device")
            self.assertEqual(outcome.json["error"]["kind"], "Io")

    def test_a_full_disk_while_the_input_stalls(self):
        process = start("stream", "-", "--out", "/dev/full")
        process.stdin.write(y4m(frames(3, Y4M_FRAME)))
        process.stdin.flush()
        # Its standard input stays open: it must not wait for more.
        self.assertEqual(process.wait(timeout=300), 1)
        self.assertFails(finish(process), 1, "No space left on device")

    def test_a_reader_that_goes_away(self):
        for arguments in ([], ["--playout"]):
            process = start("stream", self.clip, "--loop", "--out", "-", *arguments)
            process.stdout.read(Y4M_FRAME)
            process.stdout.close()
            process.stdout = None
            self.assertFails(finish(process), 1, "standard output", "Broken pipe")

    def test_the_input_itself(self):
        before = self.read("clip.y4m")
        self.assertFails(run("stream", self.clip, "--out", self.clip), 1, "is the input file itself")
        self.assertEqual(self.read("clip.y4m"), before)

    def test_a_folder_that_is_not_there(self):
        self.assertFails(run("stream", self.clip, "--out", self.path("no/out")), 1, "No such file")

    def test_a_report_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            self.assertFails(run("stream", self.clip, stdout=full), 1, "standard output", "No space left")

    def test_an_output_that_is_a_device(self):
        self.assertEqual(run("stream", self.clip, "--out", os.devnull).code, 0)


if __name__ == "__main__":
    unittest.main()
