"""Standard output that does not take what is written: exit status 1 and a message, never a crash."""

import os
import subprocess
import unittest

from support import PROGRAM, TIMEOUT, ProgramTest, run

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

    def test_a_failure_with_json_keeps_its_exit_status(self):
        with open("/dev/full", "wb") as full:
            self.assertFails(run("alloc", "--api", "cuda", "--json", stdout=full), 1, "no cuda backend")


if __name__ == "__main__":
    unittest.main()
