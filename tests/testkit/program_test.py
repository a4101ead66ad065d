"""Runs rdmagpu-testkit, which RDMAGPU_TESTKIT names, on the software devices."""

import os
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["RDMAGPU_TESTKIT"]
# Only against a hang: a machine that is busy, or a sanitizer, may be slow.
TIMEOUT = 900


def run(*arguments, path="cuda", **environment):
    """Runs the program on that driver; an empty path: on none."""
    library_path = run("path", path, path="").stdout.strip() if path else ""
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path, **environment}
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT,
                          env=environment)


class Commands(unittest.TestCase):
    def test_path_leads_to_a_driver_and_the_management_library(self):
        for driver in "cuda", "cuda-11.4", "cuda-10.1":
            folders = run("path", driver, path="").stdout.strip().split(":")
            self.assertTrue(os.path.exists(os.path.join(folders[0], "libcuda.so.1")))
            self.assertTrue(os.path.exists(os.path.join(folders[1], "libnvidia-ml.so.1")))

    def test_unknown_driver_command_or_option_is_a_mistake_in_usage(self):
        for words in ["path", "cuda-99"], ["path", "../cuda"], ["paths"], ["record", "--speed", "1"], \
                ["record", "--calls", "many"], ["record", "--out"], ["replay"], []:
            self.assertEqual(run(*words, path="").returncode, 2, words)

    def test_help_is_for_every_command(self):
        for words in ["--help"], ["record", "--help"], ["replay", "-h"]:
            done = run(*words, path="")
            self.assertEqual(done.returncode, 0)
            self.assertIn("usage:", done.stdout)

    def test_each_profile_that_is_listed_is_one_that_the_driver_can_be(self):
        lines = run("profiles", path="").stdout.split("\n\n")[0].splitlines()
        names = [line.split()[0] for line in lines]
        self.assertIn("h200", names)
        for name in names:
            done = run("profile", RDMAGPU_STANDIN_CUDA_PROFILE=name)
            self.assertEqual(done.returncode, 3 if name == "no-device" else 0, name)

    def test_without_a_driver_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("record", "--out", folder, path="", LD_LIBRARY_PATH=folder)
            self.assertEqual(done.returncode, 3)
            self.assertIn("does not start here", done.stderr)


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.trace = os.path.join(cls.folder.name, "trace.txt")
        cls.recorded = run("record", "--out", cls.folder.name, "--seed", 5, "--calls", 3000)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def replay(self, **environment):
        return run("replay", self.trace, "--out", self.trace + ".replayed", **environment)

    def test_1_recording_ends_well_and_leaves_out_what_ends_a_process(self):
        self.assertEqual(self.recorded.returncode, 0, self.recorded.stdout + self.recorded.stderr)
        with open(self.trace, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("without cuMemRelease/zero-handle ends the process with signal 6", text)
        self.assertNotIn("cuMemRelease/zero-handle handle=", text)
        self.assertLess(len(text), 400_000)

    def test_same_driver_has_no_divergence(self):
        done = self.replay()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(" 0 divergences", done.stdout)

    def test_value_that_differs_is_found(self):
        done = self.replay(RDMAGPU_STANDIN_CUDA_PROFILE="unordered")
        self.assertEqual(done.returncode, 1)
        self.assertIn("fact attribute-118", done.stdout)
        self.assertIn("cuDeviceGetAttribute/good", done.stdout)

    def test_status_that_differs_is_found(self):
        done = self.replay(RDMAGPU_STANDIN_CUDA_PROFILE="no-posix-fd")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cuMemCreate/good", done.stdout)

    def test_call_that_ends_this_driver_is_found_and_the_rest_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            none = os.path.join(folder, "none.txt")
            with open(none, "w", encoding="utf-8"):
                pass
            recorded = run("record", "--out", folder, "--seed", 5, "--calls", 3000, "--left-out", none,
                           RDMAGPU_STANDIN_CUDA_MISUSE="answer")
            self.assertEqual(recorded.returncode, 0, recorded.stdout)
            self.assertNotIn("left out", recorded.stdout)
            trace = os.path.join(folder, "trace.txt")
            answering = run("replay", trace, RDMAGPU_STANDIN_CUDA_MISUSE="answer")
            self.assertEqual(answering.returncode, 0, answering.stdout)
            strict = run("replay", trace)
            self.assertEqual(strict.returncode, 1)
            self.assertIn("cuMemRelease/zero-handle: ends the process with signal 6", strict.stdout)
            self.assertIn(" 0 divergences", strict.stdout)

    def test_list_of_what_to_leave_out_must_exist(self):
        done = run("record", "--out", self.folder.name, "--left-out", self.trace + ".none")
        self.assertEqual(done.returncode, 3)
        self.assertIn("left out", done.stderr)

    def test_foreign_file_is_refused(self):
        done = run("replay", __file__, "--out", self.trace + ".replayed")
        self.assertEqual(done.returncode, 3)
        self.assertIn("not a trace", done.stderr)
        self.assertFalse(os.path.exists(self.trace + ".replayed.left_out"))

    def test_file_that_is_not_there_is_told_and_leaves_nothing(self):
        missing = os.path.join(self.folder.name, "nofile")
        done = run("replay", missing)
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot read " + missing, done.stderr)
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("nofile")], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
