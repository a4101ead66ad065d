"""list, alloc and verify: what they print, and how they end."""

import os
import signal
import unittest

from support import ProgramTest, finish, has_cuda, run, start

SMALL = ["--slots", "3", "--bytes", "100000"]


class List(ProgramTest):
    def test_shows_host_memory(self):
        outcome = run("list")
        self.assertEqual((outcome.code, outcome.err), (0, ""))
        self.assertRegex(outcome.out, r"(?m)^host +host memory")

    def test_json(self):
        host = [b for b in run("list", "--json").json["backends"] if b["name"] == "host"]
        self.assertEqual(len(host), 1)
        self.assertTrue(host[0]["available"])
        self.assertIsNone(host[0]["reason"])
        self.assertEqual(len(host[0]["devices"]), 1)


class Alloc(ProgramTest):
    def test_json_has_every_slot_with_its_handoff(self):
        outcome = run("alloc", "--api", "host", "--json", *SMALL)
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        self.assertEqual(report["api"], "host")
        self.assertEqual(report["facts"]["requested_bytes"], 300000)
        stride = report["facts"]["slot_stride"]
        self.assertEqual(stride % 65536, 0)
        self.assertEqual([slot["index"] for slot in report["slots"]], [0, 1, 2])
        addresses = [int(slot["gpu_va"], 16) for slot in report["slots"]]
        self.assertEqual([b - a for a, b in zip(addresses, addresses[1:])], [stride, stride])
        for slot in report["slots"]:
            self.assertEqual(slot["handoff"], {"kind": "host-pointer", "value": slot["gpu_va"]})
            self.assertIsNone(slot["dma_buf"])
        self.assertEqual(report["proof"]["allocated"], "yes")
        self.assertIsNone(report["proof"]["by"])

    @unittest.skipIf(has_cuda(), "this machine has CUDA's driver")
    def test_auto_takes_what_is_there(self):
        report = run("alloc", "--json", *SMALL).json
        self.assertEqual(report["api"], "host")
        self.assertEqual([(passed["api"], passed["reason"]["code_name"]) for passed in report["selection"]],
                         [("cuda", "DriverAbsent")])

    def test_export_is_a_dma_buf_or_a_reason(self):
        outcome = run("alloc", "--export", "--json", *SMALL)
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        if report["export_error"]:
            self.assertTrue(report["export_error"]["message"])
            self.assertEqual([slot["dma_buf"] for slot in report["slots"]], [None] * 3)
        else:
            stride = report["facts"]["slot_stride"]
            self.assertEqual([slot["dma_buf"]["offset"] for slot in report["slots"]], [0, stride, 2 * stride])

    def test_export_without_memfd_says_why_not(self):
        outcome = run("alloc", "--export", "--no-memfd", *SMALL)
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertRegex(outcome.out, r"(?m)^export +not possible: .*memfd")
        self.assertRegex(outcome.out, r"(?m)^memfd +no")

    def test_lock_off_is_told(self):
        self.assertFalse(run("alloc", "--lock", "off", "--json", *SMALL).json["facts"]["locked"])

    @unittest.skipIf(has_cuda(), "this machine has CUDA's driver")
    def test_pinning_for_a_gpu_says_why_not(self):
        wanted = ["alloc", "--api", "host", *SMALL, "--pin-gpu"]
        facts = run(*wanted, "try", "--json").json["facts"]
        self.assertEqual((facts["pinned_by"], facts["pin_error"]["code_name"]), ("nobody", "DriverAbsent"))
        self.assertRegex(run(*wanted, "try").out, r"(?m)^pinned by +nobody: libcuda")
        self.assertFails(run(*wanted, "require", "--json"), 1, "libcuda", "hint: ")
        facts = run(*wanted, "off", "--json").json["facts"]
        self.assertIsNone(facts["pin_error"])
        self.assertEqual((facts["sync_memops"], facts["sync_memops_error"]), ("not-tried", None))
        self.assertEqual(run(*wanted, "yes").code, 2)

    def test_many_slots_are_cut_short_unless_all_are_wanted(self):
        short = run("alloc", "--slots", "40", "--bytes", "1")
        self.assertIn("... 24 more", short.out)
        full = run("alloc", "--slots", "40", "--bytes", "1", "--all")
        self.assertNotIn("more", full.out)
        self.assertRegex(full.out, r"(?m)^39 +host-pointer")

    def test_a_backend_that_is_not_in_this_build(self):
        outcome = run("alloc", "--api", "hip", "--json")
        self.assertFails(outcome, 1, "this build has no hip backend: it has cuda, host", "hint: ")
        error = outcome.json["error"]
        self.assertEqual((error["kind"], error["origin"], error["code_name"]), ("Unsupported", "Library", "BackendAbsent"))
        self.assertTrue(error["hints"])

    @unittest.skipIf(has_cuda(), "this machine has CUDA's driver")
    def test_a_driver_that_is_not_on_this_machine(self):
        outcome = run("alloc", "--api", "cuda", "--json", *SMALL)
        self.assertFails(outcome, 1, "libcuda.so.1: not found", "hint: Install NVIDIA's driver")
        error = outcome.json["error"]
        self.assertEqual((error["kind"], error["call"], error["code_name"]), ("NotFound", "libcuda.so.1", "DriverAbsent"))

    def test_more_than_is_free_is_refused_with_the_numbers(self):
        self.assertFails(run("alloc", "--slots", "1000", "--bytes", "1T"), 1, "available", "fewer or smaller slots")

    def test_hints_name_the_commands_own_options(self):
        huge = ["--slots", "1000", "--bytes", "1T"]
        self.assertIn("hint: Set --ignore-budget to try all the same.", run("alloc", *huge).err)
        self.assertIn("hint: Leave --no-memfd out.", run("alloc", "--export", "--no-memfd", *SMALL).out)
        hints = run("alloc", "--export", "--no-memfd", "--json", *SMALL).json["export_error"]["hints"]
        self.assertIn("Leave --no-memfd out.", hints)
        # verify has no such option, and nobody but a programmer has the library's.
        for command in ("alloc", "verify"):
            self.assertNotRegex(run(command, *huge).err, "ignoreBudget|maxSlots")
        self.assertNotIn("--ignore-budget", run("verify", *huge).err)

    def test_a_node_that_is_not_there(self):
        self.assertFails(run("alloc", "--node", "1000", *SMALL), 1, "NUMA node")

    @unittest.skipUnless(os.path.isdir("/sys/bus/pci/devices"), "the kernel lists no PCI devices here")
    def test_a_peer_that_is_not_there(self):
        outcome = run("alloc", "--peer-pci", "fe:1e.7", "--json", *SMALL)
        self.assertFails(outcome, 1, "PCI device 0000:fe:1e.7", "lspci -D")
        self.assertEqual(outcome.json["error"]["kind"], "NotFound")

    @unittest.skipUnless(os.path.isdir("/sys/bus/pci/devices"), "the kernel lists no PCI devices here")
    def test_a_peer_that_is_there(self):
        for address in os.listdir("/sys/bus/pci/devices")[:1]:
            self.assertEqual(run("alloc", "--peer-pci", address, *SMALL).code, 0)

    def hold(self, number):
        process = start("alloc", "--hold", *SMALL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        told = process.stderr.readline()
        self.assertIn(b"held until", told)
        process.send_signal(number)
        return finish(process)

    def test_hold_ends_with_130_after_ctrl_c(self):
        outcome = self.hold(signal.SIGINT)
        self.assertEqual(outcome.code, 130)
        self.assertIn("SLOT", outcome.out)

    def test_hold_ends_with_129_when_its_terminal_goes_away(self):
        self.assertEqual(self.hold(signal.SIGHUP).code, 129)

    def test_hold_ends_with_0_when_told_to(self):
        self.assertEqual(self.hold(signal.SIGTERM).code, 0)

    def test_a_gpu_that_has_no_effect_is_told(self):
        outcome = run("alloc", "--api", "host", "--gpu", "65:00.0", *SMALL)
        self.assertEqual(outcome.code, 0)
        self.assertIn("--gpu has no effect", outcome.err)

    def test_ctrl_c_while_allocating_ends_at_once(self):
        process = start("alloc", "--api", "host", "--slots", "4", "--bytes", "64M")
        process.send_signal(signal.SIGINT)
        # Either the signal came first, or the machine was fast enough to be done.
        self.assertIn(finish(process).code, (-signal.SIGINT, 0))

    def test_hold_keeps_the_memory(self):
        process = start("alloc", "--hold", *SMALL)
        process.stderr.readline()
        with open(f"/proc/{process.pid}/maps", encoding="ascii") as maps:
            self.assertIn("memfd:", maps.read())
        process.send_signal(signal.SIGTERM)
        finish(process)
        self.assertFalse(os.path.exists(f"/proc/{process.pid}/maps"))


class Verify(ProgramTest):
    def test_both_directions_are_proven(self):
        outcome = run("verify", "--api", "host", "--json", *SMALL)
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        self.assertEqual((report["api"], report["peer"], report["slots"]), ("host", "software", 3))
        self.assertEqual((report["write"], report["read"], report["failures"]), ("proven", "proven", []))
        self.assertEqual(report["proof"]["by"], "software")

    def test_text_says_who_has_proven_it(self):
        outcome = run("verify", *SMALL)
        self.assertEqual(outcome.code, 0)
        self.assertRegex(outcome.out, r"(?m)^write +proven")
        self.assertRegex(outcome.out, r"(?m)^moved by +the CPU: .* no third-party device$")
        self.assertIn("no hardware path is proven", outcome.out)

    def test_a_peer_that_is_not_in_this_build(self):
        outcome = run("stream", "x", "--peer", "block:/dev/nvme0n1", "--json")
        self.assertFails(outcome, 1, "stream has no peer 'block:/dev/nvme0n1' in this build", "software")
        self.assertEqual(outcome.json["error"]["kind"], "Unsupported")

    def test_a_nic_that_is_not_there(self):
        # A build without libibverbs, a kernel without RDMA, or a machine without that device.
        outcome = run("verify", "--peer", "verbs:no-such-nic", "--json")
        self.assertFails(outcome, 1, "hint: ")
        self.assertIn(outcome.json["error"]["kind"], ("NotFound", "Unsupported"))

    def test_a_backend_that_is_not_in_this_build(self):
        self.assertFails(run("verify", "--api", "hip"), 1, "no hip backend")


if __name__ == "__main__":
    unittest.main()
