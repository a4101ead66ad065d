"""Standard output that does not take what is written: exit status 1 and a message, never a crash."""

import os
import resource
import subprocess
import unittest

from support import PROGRAM, TIMEOUT, Y4M_FRAME, ProgramTest, frames, run, y4m

CALLS = [["list"], ["list", "--json"], ["alloc", "--slots", "1", "--bytes", "64K"], ["verify", "--slots", "1", "--bytes", "64K"],
         ["--help"], ["stream", "--help"], ["--version"]]


class Output(ProgramTest):
    def test_a_full_disk(self):
        for arguments in CALLS:
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                self.assertFails(run(*arguments, stdout=full), 1, "standard output", "No space left on device")

    def test_a_closed_pipe(self):
        for arguments in CALLS:
            with self.subTest(arguments=arguments):
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run([PROGRAM, *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=TIMEOUT)
                os.close(writer)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"Broken pipe", done.stderr)

    def test_a_descriptor_that_is_closed(self):
        """What is printed must not end up in a file that was opened later, such as the slots themselves."""
        for arguments in CALLS:
            with self.subTest(arguments=arguments):
                done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', PROGRAM, *arguments],
                                      stderr=subprocess.PIPE, timeout=TIMEOUT)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"Bad file descriptor", done.stderr)

    def test_a_limit_on_file_sizes(self):
        clip = self.file("clip.y4m", y4m(frames(3, Y4M_FRAME)))
        small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
        # A build for coverage writes files of its own at exit: not cut short into those of other runs.
        elsewhere = {**os.environ, "GCOV_PREFIX": self.folder}
        outcome = run("stream", clip, "--out", self.path("out.raw"), preexec_fn=small, env=elsewhere)
        self.assertFails(outcome, 1, "out.raw", "File too large")
        self.assertRegex(outcome.out, r"(?m)^memory .*anonymous")

    def test_a_failure_with_json_keeps_its_exit_status(self):
        with open("/dev/full", "wb") as full:
            self.assertFails(run("alloc", "--api", "hip", "--json", stdout=full), 1, "no hip backend")


if __name__ == "__main__":
    unittest.main()
