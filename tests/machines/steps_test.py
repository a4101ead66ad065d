"""What `rdmagpu doctor` tries, on the software devices: a GPU of the testkit's, and a NIC that is linked into the program."""

import json
import os
import subprocess
import tempfile
import unittest

import machine

PROGRAM = os.environ["RDMAGPU"]
GPU, NIC = "0000:3b:00.0", "0000:18:00.0"
WITHOUT_CONTEXT = ["driver-library", "device", "attributes"]


class Steps(unittest.TestCase):
    def doctor(self, *arguments, profile="h200", nic="", hardware=False):
        """The report on the tree of these devices, and the steps with the GPU as {(step, route): step}."""
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        machine.Machine("standin").unpack(root.name)
        env = {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": profile, "RDMAGPU_STANDIN_NIC": nic}
        if hardware:
            node = os.path.join(root.name, "node")
            os.makedirs(os.path.join(node, "device"))
            env["RDMAGPU_STANDIN_NIC_NODE"] = node
        done = subprocess.run([PROGRAM, "doctor", "--root", root.name, *arguments, "--json"], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.stderr, b"")
        report = json.loads(done.stdout)
        return report, {(s["step"], s["route"]): s for s in report["steps"] if s["gpu"] == GPU}

    def results(self, steps):
        return {key: step["result"] for key, step in steps.items()}

    def verdict(self, report, route="dma-buf"):
        return next((p["verdict"], p["because"][:1], p["tried"]) for p in report["pairs"] if p["route"] == route)

    def test_the_whole_way(self):
        report, steps = self.doctor("--try", nic="liar", hardware=True)
        self.assertEqual(self.results(steps), {
            ("driver-library", None): "yes", ("device", None): "yes", ("attributes", None): "yes", ("allocation", None): "yes",
            ("reach", None): "yes", ("export", "dma-buf"): "yes", ("registration", "dma-buf"): "yes", ("write", "dma-buf"): "no",
            ("read", "dma-buf"): "no", ("registration", "peer-memory"): "yes", ("write", "peer-memory"): "no",
            ("read", "peer-memory"): "no"})
        self.assertEqual(steps["registration", "dma-buf"]["peer"], NIC)
        self.assertEqual(steps["write", "dma-buf"]["by"], "device")
        self.assertIn("nothing arrived", steps["write", "dma-buf"]["says"])
        self.assertEqual(self.verdict(report), ("blocked", ["tried-transfers"], True))

    def test_another_recorded_machine_has_none_of_this_ones(self):
        report, _ = self.doctor()
        self.assertEqual(report["steps"], [])
        self.assertEqual(self.verdict(report), ("direct", [], False))

    def test_a_nic_that_refuses_the_memory(self):
        report, steps = self.doctor("--try", nic="no-gpu")
        self.assertEqual(steps["registration", "dma-buf"]["result"], "no")
        self.assertIn("EOPNOTSUPP", steps["registration", "dma-buf"]["says"])
        self.assertEqual(steps["write", "dma-buf"]["result"], "not-tried")
        self.assertEqual(self.verdict(report), ("blocked", ["tried-registration"], True))

    def test_a_nic_that_cannot_be_opened_has_refused_nothing(self):
        report, steps = self.doctor("--try", nic="locked")
        self.assertEqual(steps["registration", "dma-buf"]["result"], "not-tried")
        self.assertIn("EACCES", steps["registration", "dma-buf"]["says"])
        self.assertEqual(self.verdict(report), ("direct", [], False))
        self.assertEqual(self.doctor("--try", nic="absent")[1]["write", "dma-buf"]["result"], "not-tried")

    def test_a_port_that_is_down_leaves_the_transfers_untried(self):
        _, steps = self.doctor("--try", nic="down")
        self.assertEqual(steps["registration", "dma-buf"]["result"], "yes")
        self.assertEqual(steps["write", "dma-buf"]["result"], "not-tried")
        self.assertIn("ENETDOWN", steps["write", "dma-buf"]["says"])

    def test_a_driver_that_exports_nothing_was_not_refused_by_the_nic(self):
        report, steps = self.doctor("--try", profile="no-dma-buf")
        self.assertEqual(steps["export", "dma-buf"]["result"], "no")
        self.assertEqual(steps["registration", "dma-buf"]["result"], "not-tried")
        self.assertEqual(self.verdict(report), ("blocked", ["tried-export"], True))

    def test_each_machine_of_the_testkit(self):
        for profile, first in (("h200", None), ("no-vmm", None), ("geforce", "attributes"), ("unreachable", "reach"),
                               ("no-dma-buf", "export"), ("no-device", "device")):
            with self.subTest(profile):
                _, steps = self.doctor("--try", profile=profile)
                bad = [kind for (kind, _), step in steps.items() if step["result"] == "no" and kind not in ("registration", "write", "read")]
                self.assertEqual(bad[0] if bad else None, first)

    def test_without_root_this_machine_is_tried_as_far_as_no_context_is_needed(self):
        done = subprocess.run([PROGRAM, "doctor", "--json"], stdout=subprocess.PIPE, timeout=300)
        steps = [s for s in json.loads(done.stdout)["steps"] if s["gpu"] == GPU]
        self.assertEqual([s["step"] for s in steps if s["result"] == "yes"], WITHOUT_CONTEXT)
        self.assertEqual({s["says"] for s in steps if s["result"] == "not-tried"}, {"takes memory of the GPU: only with --try"})

    def test_the_page_says_what_was_tried(self):
        page = subprocess.run([PROGRAM, "doctor", "--try"], stdout=subprocess.PIPE, timeout=300).stdout.decode("ascii")
        self.assertIn(f"Tried {GPU}: driver-library, device, attributes, allocation, reach, export\n", page)
        self.assertIn("untried: registration, write, read (there is no peer)", page)

    def test_help_lists_both_kinds(self):
        page = subprocess.run([PROGRAM, "doctor", "--help"], stdout=subprocess.PIPE, timeout=300).stdout.decode()
        always, _, asked = page.partition("with --try  ")
        for step in WITHOUT_CONTEXT:
            self.assertIn(step, always.partition("always")[2])
        for step in ("allocation", "reach", "export", "registration", "write", "read"):
            self.assertIn(step, asked)


if __name__ == "__main__":
    unittest.main()
