"""rdmagpu verify through rxe0, the kernel's software RoCE, in the emulated machine."""

import json
import os
import subprocess
import unittest

PROGRAM = os.environ["RDMAGPU"]
LIMIT = 300  # only against a hang: the machine may be slow
SMALL = ["--slots", "3", "--bytes", "300000"]


def verify(*arguments, peer="verbs:rxe0"):
    return subprocess.run([PROGRAM, "verify", "--peer", peer, *SMALL, *arguments], capture_output=True, text=True, timeout=LIMIT)


def listen(*arguments):
    """The other side, when it waits, and what it has said."""
    server = subprocess.Popen([PROGRAM, "verify", "--peer", "verbs:rxe0", "--listen", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return server, server.stderr.readline()


class Verify(unittest.TestCase):
    def test_both_directions_are_proven(self):
        done = verify("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["write"], report["read"], report["failures"]), ("proven", "proven", []))
        self.assertEqual((report["peer"], report["slots"], report["proof"]["registered"]), ("verbs:rxe0", 3, "yes"))
        self.assertEqual(report["proof"]["by"], "software")  # no PCI device is behind it
        nic = report["nic"]
        self.assertEqual((nic["device"], nic["port"], nic["path"]), ("rxe0", 1, "host-pages"))

    def test_each_gid_of_the_port_proves_it(self):
        for index, gid in ((0, "fe80::"), (1, "::ffff:10.99.0.1")):
            done = verify("--json", "--gid", str(index))
            self.assertEqual(done.returncode, 0, done.stderr)
            nic = json.loads(done.stdout)["nic"]
            self.assertEqual(nic["gid_index"], index)
            self.assertTrue(nic["gid"].startswith(gid), nic["gid"])

    def test_the_table_says_what_it_went_through(self):
        done = verify("--gid", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^NIC +rxe0, port 1, GID 1 \(::ffff:10\.99\.0\.1\)$")
        self.assertRegex(done.stdout, r"(?m)^registered by +host-pages$")
        self.assertRegex(done.stdout, r"(?m)^moved by .* no hardware path is proven$")

    def test_two_processes_prove_each_others_slots(self):
        server, line = listen("--json")
        self.addCleanup(server.kill)
        self.assertIn("waiting for", line)
        client = verify("--json", "--to", "10.99.0.1")
        out, err = server.communicate(timeout=LIMIT)
        self.assertEqual((client.returncode, server.returncode), (0, 0), client.stderr + err)
        report, served = json.loads(client.stdout), json.loads(out)
        self.assertEqual((report["write"], report["read"], report["nic"]["to"]), ("proven", "proven", "10.99.0.1"))
        self.assertEqual((served["write"], served["read"], served["client"]), ("proven", "proven", "::ffff:10.99.0.1"))
        stride = 327680  # 300,000 bytes in pages of 64 KiB
        self.assertEqual((served["written_bytes"], served["read_bytes"]), (3 * stride, 3 * stride))
        for nic in (report["nic"], served["nic"]):  # the GID is that of the address that TCP went through
            self.assertEqual((nic["gid_index"], nic["gid"]), (1, "::ffff:10.99.0.1"))

    def assertRefused(self, done, *texts):
        self.assertEqual(done.returncode, 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_a_device_that_is_not_there(self):
        self.assertRefused(verify(peer="verbs:mlx5_0"), "there is no RDMA device 'mlx5_0': this machine has rxe0")

    def test_a_port_that_is_not_there(self):
        self.assertRefused(verify(peer="verbs:rxe0:2"), "ibv_query_port failed: EINVAL", "hint: Name a port")

    def test_a_gid_that_is_not_there(self):
        self.assertRefused(verify("--gid", "200"), "ibv_query_gid_ex", "hint: Set --gid")

    def test_a_port_that_is_down(self):
        subprocess.run(["ip", "link", "set", "dummy0", "down"], check=True)
        try:
            self.assertRefused(verify(), "ENETDOWN", "hint: Bring the NIC's port up")
        finally:
            subprocess.run(["ip", "link", "set", "dummy0", "up"], check=True)


if __name__ == "__main__":
    unittest.main()
