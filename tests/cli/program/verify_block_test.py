"""verify with a block device as the peer, and memory of PCI devices, as far as a machine without either can tell."""

import glob
import os
import random
import unittest

from support import ProgramTest, run


class BlockPeer(ProgramTest):
    """A regular file in a drive's place; drives are in tests/guest."""

    CALL = ("verify", "--api", "host", "--slots", "3", "--bytes", "64K")

    def setUp(self):
        super().setUp()
        self.before = random.Random(1).randbytes(1 << 20)
        self.drive = self.file("drive", self.before)
        try:
            os.close(os.open(self.drive, os.O_RDONLY | os.O_DIRECT))
        except OSError as refusal:
            self.skipTest(f"no direct I/O here: {refusal}")

    def now(self):
        with open(self.drive, "rb") as file:
            return file.read()

    def test_it_is_only_read(self):
        outcome = run(*self.CALL, "--peer", f"block:{self.drive}", "--json")
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        self.assertEqual((report["peer"], report["write"], report["read"]), (f"block:{self.drive}", "proven", "not-tried"))
        self.assertEqual((report["peer_pci"], report["overwritten_bytes"], report["failures"]), (None, 0, []))
        self.assertEqual((report["proof"]["written"], report["proof"]["by"]), ("yes", "software"))
        self.assertEqual(self.now(), self.before)

    def test_overwrite_proves_both_directions_and_names_what_is_lost(self):
        outcome = run(*self.CALL, "--peer", f"block:{self.drive}", "--overwrite", "--json")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertIn(f"the first 65536 bytes of {self.drive}", outcome.err)
        report = outcome.json
        self.assertEqual((report["write"], report["read"], report["overwritten_bytes"]), ("proven", "proven", 65536))
        self.assertNotEqual(self.now()[:65536], self.before[:65536])
        self.assertEqual(self.now()[65536:], self.before[65536:])

    def test_text_says_that_no_device_is_proven(self):
        outcome = run(*self.CALL, "--peer", f"block:{self.drive}")
        self.assertRegex(outcome.out, r"(?m)^moved by +the kernel: no PCI device .* none is proven$")
        self.assertIn("no hardware path is proven", outcome.out)

    def test_what_is_no_drive_is_refused(self):
        self.assertFails(run(*self.CALL, "--peer", "block:/dev/null"), 1, "a block device, or a regular file", "lsblk")
        self.assertFails(run(*self.CALL, "--peer", f"block:{self.drive}-absent"), 1,
                         f"verify: block:{self.drive}-absent: open failed: ENOENT", "Look at the path")
        self.assertFails(run("verify", "--slots", 1, "--bytes", "4M", "--peer", f"block:{self.drive}"), 1,
                         "asked 4194304, available 1048576")
        self.assertFails(run("verify", "--peer", "block:"), 2, "block:PATH")

    def test_there_must_be_something_to_overwrite(self):
        self.assertFails(run("verify", "--overwrite"), 2, "--overwrite: only --peer block:PATH and cufile:PATH")


class PciP2p(ProgramTest):
    def test_machine_without_such_memory_says_what_it_takes(self):
        if glob.glob("/sys/bus/pci/devices/*/p2pmem"):
            self.skipTest("this machine has peer-to-peer memory")
        for command in ("alloc", "verify"):
            self.assertFails(run(command, "--api", "pci-p2p"), 1, "p2pmem", "CONFIG_PCI_P2PDMA")
        listed = [b for b in run("list", "--json").json["backends"] if b["name"] == "pci-p2p"]
        self.assertEqual([(b["available"], b["reason"]["code_name"]) for b in listed], [(False, "P2pmemAbsent")])


if __name__ == "__main__":
    unittest.main()
