"""`rdmagpu doctor --record`: the same answer on the recording, and nothing in it that tells one machine from others."""

import json
import os
import subprocess
import tempfile
import unittest

import machine

PROGRAM = os.environ["RDMAGPU"]
SECRETS = {"GPU-1b2c3d4e-1111-2222-3333-444455556666": "1b2c3d4e", "50:6b:4b:03:00:01": "50:6b:4b", "506b:4b03:0001:ab12": "4b03",
           "rocex506b4b030001": "506b4b030001", "1320222012345": "1320222012345", "studio7.example.org": "example",
           "studio7": "studio7"}


def doctor(*arguments):
    return subprocess.run([PROGRAM, "doctor", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def recorded(self, *source):
        done = doctor(*source, "--record", self.path("recording"), "--json")
        self.assertEqual(done.stderr, b"")
        again = doctor("--root", self.path("recording"), "--json")
        self.assertEqual((again.returncode, again.stderr), (done.returncode, b""))
        return json.loads(done.stdout), json.loads(again.stdout)

    def content(self):
        for folder, _, names in os.walk(self.path("recording")):
            for name in names:
                path = os.path.join(folder, name)
                yield path
                if os.path.islink(path):
                    yield os.readlink(path)
                else:
                    with open(path, encoding="latin-1") as file:
                        yield file.read()

    def test_each_machine_gives_the_same_answer(self):
        for name in machine.some():
            with self.subTest(name):
                self.setUp()
                os.makedirs(self.path("tree"))
                machine.Machine(name).unpack(self.path("tree"))
                first, second = self.recorded("--root", self.path("tree"))
                self.assertEqual(first, second)

    def test_this_machine_gives_the_same_answer(self):
        first, second = self.recorded()
        self.assertEqual(first, second)
        sizes = [os.path.getsize(path) for path in self.content() if os.path.isfile(path)]
        self.assertLess(sum(sizes), 4 << 20)

    def test_nothing_tells_the_machine_from_others(self):
        root = self.path("tree")
        machine.Machine("server_switch").unpack(root)
        for path, text in (("proc/sys/kernel/hostname", "studio7.example.org\n"),
                           ("proc/driver/nvidia/gpus/0000:17:00.0/information",
                            "Model: NVIDIA H100 on studio7\nGPU UUID: GPU-1b2c3d4e-1111-2222-3333-444455556666\nSerial Number: 1320222012345\n"),
                           ("rdmagpu/steps", "device yes 0000:17:00.0 - - none at studio7.example.org 50:6b:4b:03:00:01 506b:4b03:0001:ab12\n")):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        os.rename(os.path.join(root, "sys/class/infiniband/mlx5_0"), os.path.join(root, "sys/class/infiniband/rocex506b4b030001"))
        bridge = os.path.join(root, "sys/bus/pci/devices/0000:16:02.0/config")
        with open(bridge, "r+b") as file:
            file.seek(0x200)
            file.write(b"1320222012345")
        self.recorded("--root", root)
        everything = "\n".join(self.content())
        for secret, part in SECRETS.items():
            self.assertNotIn(part, everything, secret)
        self.assertIn("NVIDIA H100 on host", everything)
        self.assertIn("GPU-00000000-0000-0000-0000-", everything)

    def test_what_stands_twice_is_replaced_twice_alike(self):
        root = self.path("tree")
        machine.Machine("empty").unpack(root)
        os.makedirs(os.path.join(root, "rdmagpu"))
        with open(os.path.join(root, "rdmagpu/steps"), "w", encoding="utf-8") as file:
            file.write("device yes - - - none 50:6b:4b:03:00:01 50:6b:4b:03:00:02 50:6b:4b:03:00:01\n")
        _, second = self.recorded("--root", root)
        first, other, again = second["steps"][0]["says"].split()
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_links_out_of_the_tree_lead_nowhere_else(self):
        root = self.path("tree")
        machine.Machine("server_switch").unpack(root)
        outside = self.path("outside")
        os.makedirs(os.path.join(outside, "0000:55:00.0"))
        with open(os.path.join(outside, "0000:55:00.0", "vendor"), "w", encoding="utf-8") as file:
            file.write("0x10de\n")
        devices = os.path.join(root, "sys/bus/pci/devices")
        os.symlink(os.path.join(outside, "0000:55:00.0"), os.path.join(devices, "0000:55:00.0"))
        os.symlink("../" * 40 + "tmp/0000:56:00.0", os.path.join(devices, "0000:56:00.0"))
        os.symlink("0000:57:00.0", os.path.join(devices, "0000:57:00.0"))
        first, second = self.recorded("--root", root)
        self.assertEqual(first["findings"], second["findings"])
        self.assertEqual(os.listdir(outside), ["0000:55:00.0"])
        self.assertEqual(os.listdir(os.path.join(outside, "0000:55:00.0")), ["vendor"])
        inside = os.path.realpath(self.path("recording"))
        for path in self.content():
            if os.path.islink(path) and "0000:57" not in path:
                self.assertTrue(os.path.realpath(path).startswith(inside), path)

    def test_a_folder_that_is_there_is_refused(self):
        done = doctor("--record", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"--record: {self.folder}: mkdir failed: EEXIST".encode(), done.stderr)
        self.assertIn(b"hint: Name a folder that is not there yet", done.stderr)

    def test_a_folder_that_cannot_be_made_is_told(self):
        done = doctor("--record", self.path("absent/recording"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"ENOENT", done.stderr)


if __name__ == "__main__":
    unittest.main()
