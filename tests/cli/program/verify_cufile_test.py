"""verify with a file as the peer, on the software devices of CUDA and of cuFile."""

import os
import random
import unittest

from support import ProgramTest, run


class FilePeer(ProgramTest):
    CALL = ("verify", "--slots", "3", "--bytes", "64K")

    def setUp(self):
        super().setUp()
        self.before = random.Random(1).randbytes((1 << 20) + 5)
        self.clip = self.file("clip", self.before)
        self.addCleanup(os.environ.pop, "RDMAGPU_STANDIN_CUFILE_PROFILE", None)

    def now(self):
        with open(self.clip, "rb") as file:
            return file.read()

    def prove(self, *arguments, profile="nvidia-fs-only"):
        os.environ["RDMAGPU_STANDIN_CUFILE_PROFILE"] = profile
        return run(*self.CALL, "--peer", f"cufile:{self.clip}", *arguments)

    def test_it_is_only_read(self):
        outcome = self.prove("--api", "cuda", "--json")
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        self.assertEqual((report["peer"], report["write"], report["read"]), (f"cufile:{self.clip}", "proven", "not-tried"))
        self.assertEqual((report["overwritten_bytes"], report["failures"]), (0, []))
        self.assertEqual(self.now(), self.before)

    def test_the_path_is_told(self):
        for profile, path, direct in (("nvidia-fs", "undecided", "not-tried"), ("h200", "compatibility", "no")):
            report = self.prove("--api", "cuda", "--json", profile=profile).json
            # On overlayfs and tmpfs files are refused, as on the machine that was measured.
            if report["path"] == "host-slot":
                self.assertEqual((report["direct"], report["path_reason"]["code"]), ("no", 5027))
            else:
                self.assertEqual((report["path"], report["direct"]), (path, direct))
                self.assertIsNotNone(report["path_reason"])
        self.assertRegex(self.prove("--api", "cuda", profile="neither").out, r"(?m)^path +host-slot \(staged\)$")

    def test_overwrite_proves_both_directions_and_names_what_is_lost(self):
        outcome = self.prove("--api", "cuda", "--overwrite", "--json")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertIn(f"the first 65536 bytes of {self.clip}", outcome.err)
        self.assertEqual((outcome.json["write"], outcome.json["read"]), ("proven", "proven"))
        self.assertEqual(self.now()[65536:], self.before[65536:])

    def test_host_slots_need_no_cufile(self):
        report = self.prove("--api", "host", "--json").json
        self.assertIn(report["path"], ("direct", "page-cache"))
        self.assertEqual(report["cufile"]["version"], 0)

    def test_what_is_no_file_is_refused(self):
        self.assertFails(run(*self.CALL, "--peer", f"cufile:{self.clip}-absent"), 1,
                         f"verify: cufile:{self.clip}-absent: open failed: ENOENT")
        self.assertFails(run(*self.CALL, "--peer", "cufile:/dev/null"), 1, "a regular file")
        self.assertFails(run("verify", "--peer", "cufile:"), 2, "cufile:PATH")
        self.assertFails(run("stream", self.clip, "--peer", f"cufile:{self.clip}"), 1, "no peer")


if __name__ == "__main__":
    unittest.main()
