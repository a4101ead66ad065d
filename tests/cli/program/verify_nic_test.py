"""verify with an RDMA NIC as its peer. The program has a NIC in software linked in, and finds a software CUDA device."""

import os
import socket
import unittest

from documents_test import DOCUMENT, text
from support import ProgramTest, finish, run, start

PORT = 20000 + os.getpid() % 10000  # below those that the system gives away
PCI = "/sys/bus/pci/devices"
SMALL = ["--slots", "3", "--bytes", "200000"]


def verify(*arguments, nic="", peer="verbs:nic0", slots=SMALL):
    return run("verify", "--peer", peer, *slots, *arguments, env={**os.environ, "RDMAGPU_STANDIN_NIC": nic})


class Proof(ProgramTest):
    def test_both_directions_are_proven_by_the_nics_own_transfers(self):
        outcome = verify("--api", "host", "--json")
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        self.assertEqual((report["api"], report["peer"], report["slots"]), ("host", "verbs:nic0", 3))
        self.assertEqual((report["write"], report["read"], report["failures"]), ("proven", "proven", []))
        self.assertEqual((report["proof"]["registered"], report["proof"]["by"]), ("yes", "software"))
        self.assertEqual(report["nic"], {"device": "nic0", "port": 1, "gid_index": 1, "gid": "::1", "address": None, "path": "host-pages",
                                         "attempts": [{"path": "host-pages", "error": None}], "to": None, "pci": None})

    def test_every_key_is_documented(self):
        said = text(DOCUMENT)
        missing = [key for key in verify("--api", "host", "--json").json["nic"] if f"`nic.{key}`" not in said]
        self.assertEqual(missing, [])

    def test_text_says_device_port_gid_and_path(self):
        outcome = verify("--api", "host")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertRegex(outcome.out, r"(?m)^NIC +nic0, port 1, GID 1 \(::1\)$")
        self.assertRegex(outcome.out, r"(?m)^registered by +host-pages$")
        self.assertRegex(outcome.out, r"(?m)^write +proven")
        self.assertRegex(outcome.out, r"(?m)^read +proven")
        self.assertIn("no hardware path is proven", outcome.out)

    def test_a_port_without_gids_has_none(self):
        report = verify("--api", "host", "--json", nic="infiniband").json
        self.assertEqual((report["nic"]["gid_index"], report["nic"]["gid"], report["write"]), (None, None, "proven"))

    def on_the_bus(self, address):
        node = self.path(f"devices/pci0000:00/{address}/infiniband/nic0")
        os.makedirs(node)
        return run("verify", "--peer", "verbs:nic0", *SMALL, "--api", "host", "--json", env={**os.environ, "RDMAGPU_STANDIN_NIC_NODE": node})

    @unittest.skipUnless(os.path.isdir(PCI) and os.listdir(PCI), "the kernel lists no PCI device")
    def test_its_place_on_the_bus_decides_where_the_slots_are(self):
        address = os.listdir(PCI)[0]
        report = self.on_the_bus(address).json
        self.assertEqual((report["nic"]["pci"], report["write"]), (address, "proven"))
        self.assertFails(self.on_the_bus("fffe:ff:1f.7"), 1, "fffe:ff:1f.7")

    def test_the_gid_can_be_chosen(self):
        report = verify("--api", "host", "--json", "--gid", "1", peer="verbs:nic0:1").json
        self.assertEqual((report["nic"]["port"], report["nic"]["gid_index"]), (1, 1))


class Failures(ProgramTest):
    def test_registration_is_no_proof(self):
        outcome = verify("--api", "host", "--json", nic="liar")
        self.assertFails(outcome, 1, "the slots do not hold what was sent", "nothing arrived, although the peer reported success",
                         "hint: Run it with '--peer software' too")
        report = outcome.json
        self.assertEqual((report["write"], report["read"], report["proof"]["registered"]), ("failed", "failed", "yes"))

    def test_registration_of_a_dma_buf_is_no_proof(self):
        outcome = verify("--api", "cuda", "--json")  # the software device's dma-bufs hold none of its bytes
        self.assertFails(outcome, 1, "nothing arrived, although the peer reported success")
        report = outcome.json
        self.assertEqual((report["api"], report["nic"]["path"]), ("cuda", "dma-buf"))
        self.assertEqual((report["write"], report["read"], report["proof"]["registered"]), ("failed", "failed", "yes"))

    def test_a_path_that_passes_writes_only_is_found_out(self):
        outcome = verify("--api", "host", "--json", nic="writes-only")
        self.assertFails(outcome, 1, "IBV_WC_REM_OP_ERR", "writes pass and reads do not")
        self.assertEqual((outcome.json["write"], outcome.json["read"]), ("proven", "failed"))

    def test_a_device_that_is_not_there(self):
        outcome = verify("--json", peer="verbs:mlx5_7")
        self.assertFails(outcome, 1, "there is no RDMA device 'mlx5_7': this machine has nic0", "hint: Name one that 'rdma link'")
        self.assertEqual(outcome.json["error"]["kind"], "NotFound")
        self.assertFails(verify(nic="absent"), 1, "this machine has none")

    def test_a_device_without_rights_to_it(self):
        self.assertFails(verify(nic="locked"), 1, "ibv_open_device failed: EACCES", "hint: Open /dev/infiniband")

    def test_a_port_that_is_down(self):
        self.assertFails(verify("--api", "host", nic="down"), 1, "ENETDOWN", "hint: Bring the NIC's port up")

    def test_a_port_that_the_device_does_not_have(self):
        self.assertFails(verify("--api", "host", peer="verbs:nic0:2"), 1, "ibv_query_port", "hint: Name a port that the NIC has")

    def test_a_gid_that_the_port_does_not_have(self):
        self.assertFails(verify("--api", "host", "--gid", "9"), 1, "ENODATA", "hint: Set --gid to an entry")

    def test_iwarp_between_hosts_is_told(self):
        self.assertFails(verify(f"--listen=127.0.0.1:{PORT}", nic="iwarp", slots=[]), 1, "hint: Use NICs of InfiniBand or RoCE")

    def test_slots_that_are_too_much_for_the_device(self):
        self.assertFails(verify("--api", "host", nic="small", slots=["--slots", "17", "--bytes", "64K"]), 1, "max_mr_size", "1114112", "1048576")

    def test_every_path_that_was_refused_is_told(self):
        outcome = verify("--api", "cuda", nic="no-gpu")
        self.assertFails(outcome, 1, "dma-buf: ibv_reg_dmabuf_mr failed: EOPNOTSUPP", "peer-memory: ibv_reg_mr (device pointer) failed: EFAULT")


class OtherHost(ProgramTest):
    """Of two processes none can have the other's NIC in software: here is what comes before."""

    def test_nobody_waits_there(self):
        self.assertFails(verify("--api", "host", "--to", "127.0.0.1:9"), 1, "ECONNREFUSED", "hint: Start 'rdmagpu verify")

    def test_a_host_that_nobody_knows(self):
        self.assertFails(verify("--api", "host", "--to", "no.such.host.invalid"), 1, "getaddrinfo", "hint: Name the host by its address")

    def listening(self, *arguments):
        server = start("verify", "--peer", "verbs:nic0", f"--listen=127.0.0.1:{PORT}", *arguments)
        self.assertIn(b"waiting for", server.stderr.readline())
        return server

    def test_one_who_is_not_rdmagpu_is_told_so(self):
        server = self.listening("--json")
        with socket.create_connection(("127.0.0.1", PORT)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: somebody who is lost\r\n\r\n")
            done = finish(server)
        self.assertFails(done, 1, "what answers at the other host must be rdmagpu")
        self.assertEqual(done.json["error"]["code_name"], "OtherNotRdmagpu")

    def test_one_who_goes_away_is_told(self):
        server = self.listening()
        socket.create_connection(("127.0.0.1", PORT)).close()
        self.assertFails(finish(server), 1, "ECONNRESET")

    def test_an_address_of_somebody_else(self):
        self.assertFails(verify(f"--listen=192.0.2.1:{PORT}"), 1, "EADDRNOTAVAIL", "hint: Name an address")


if __name__ == "__main__":
    unittest.main()
