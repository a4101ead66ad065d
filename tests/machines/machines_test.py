"""The doctor on every machine in trees/: what it finds, what it concludes, and how it says so."""

import json
import os
import random
import re
import subprocess
import tempfile
import unittest

import machine

PROGRAM = os.environ["RDMAGPU"]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def run(*arguments):
    return subprocess.run([PROGRAM, "doctor", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


def faults(value, schema, where="report"):
    """Of the words of JSON Schema those that docs/doctor.schema.json uses."""
    types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, types[kind]) for kind in kinds):
        yield f"{where} is no {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value}"
    if isinstance(value, dict):
        for key in schema["required"]:
            if key not in value:
                yield f"{where} lacks {key}"
        for key, item in value.items():
            if key not in schema["properties"]:
                yield f"{where} has {key}"
            else:
                yield from faults(item, schema["properties"][key], f"{where}.{key}")
    if isinstance(value, list):
        for item in value:
            yield from faults(item, schema["items"], where + "[]")


class Machines(unittest.TestCase):
    def unpacked(self, name):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        found = machine.Machine(name)
        found.unpack(folder.name)
        return found, folder.name

    def test_each_is_found_as_its_file_says(self):
        for name in machine.names():
            with self.subTest(name):
                wanted, root = self.unpacked(name)
                done = run("--root", root, "--json")
                report = json.loads(done.stdout)
                pairs = [" ".join([p["gpu"], p["peer"] or "-", p["route"], p["verdict"], *p["because"][:1]])
                         for p in report["pairs"]]
                self.assertEqual(sorted({f["id"] for f in report["findings"]}), wanted.findings)
                self.assertEqual(pairs, wanted.pairs)
                self.assertEqual(done.returncode, wanted.code)
                self.assertEqual(done.stderr, b"")

    def test_each_report_is_as_the_schema_says(self):
        with open(os.path.join(SOURCE, "docs", "doctor.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        for name in machine.names():
            with self.subTest(name):
                self.assertEqual(list(faults(json.loads(run("--root", self.unpacked(name)[1], "--json").stdout), schema)), [])

    def test_each_page_fits_100_columns_and_names_each_finding(self):
        for name in machine.names():
            with self.subTest(name):
                wanted, root = self.unpacked(name)
                page = run("--root", root).stdout.decode("ascii")
                self.assertLessEqual(max(map(len, page.splitlines())), 100)
                self.assertNotIn("\033", page)
                for finding in wanted.findings:
                    self.assertIn(f"[{finding}]", page)
                if not wanted.findings:
                    self.assertIn("Nothing to complain about.", page)
                    self.assertLess(page.count("\n"), 20)

    def test_every_finding_is_found_somewhere(self):
        with open(os.path.join(SOURCE, "src", "doctor", "checks.def"), encoding="utf-8") as file:
            known = set(re.findall(r'^RDMAGPU_CHECK\("([\w-]+)"', file.read(), re.M))
        shown = set().union(*(machine.Machine(name).findings for name in machine.names()))
        self.assertEqual(shown, known)

    def test_gpu_and_peer_narrow_it(self):
        _, root = self.unpacked("soft_roce")
        report = json.loads(run("--root", root, "--peer", "mlx5_0", "--gpu", "17:00.0", "--json").stdout)
        self.assertEqual({p["peer"] for p in report["pairs"]}, {"0000:18:00.0"})
        self.assertEqual(report["findings"], [])
        for option in ("--gpu", "--peer"):
            done = run("--root", root, option, "0000:99:00.0")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"doctor: {option}: 0000:99:00.0: ".encode(), done.stderr)
            self.assertIn(b"hint: Name one that 'rdmagpu doctor' shows", done.stderr)

    def test_says_what_root_would_add(self):
        _, root = self.unpacked("server_switch")
        config = os.path.join(root, "sys/bus/pci/devices/0000:16:02.0/config")
        with open(config, "r+b") as file:
            file.truncate(64)
        self.assertEqual(len(json.loads(run("--root", root, "--json").stdout)["root_would_add"]), 1)

    def test_a_wrong_folder_is_a_wrong_command_line(self):
        self.assertEqual(run("--root", "/nowhere/at/all").returncode, 2)


class Hostile(unittest.TestCase):
    """Whatever the files hold, there is a report, and no control character in it."""

    def damage(self, random_, root):
        files = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
        for path in random_.sample(sorted(files), k=min(len(files), max(1, len(files) // 4))):
            links = os.path.islink(path)
            how = random_.randrange(7)
            if how < 3 and not links:
                with open(path, "r+b") as file:
                    text = file.read()
                    file.seek(0)
                    if how == 0:
                        file.truncate(random_.randrange(len(text) + 1))
                    elif how == 1:
                        file.write(random_.randbytes(200))
                    else:
                        file.write((text[: random_.randrange(len(text) + 1)] + b"\xff\0\x1b[2J,: 0x-=99999999999999999999") * 300)
                continue
            os.unlink(path)
            if how == 3:
                os.symlink(os.path.basename(path), path)
            elif how == 4:
                os.mkdir(path)
            elif how == 5:
                os.mkfifo(path)

    def test_damaged_trees(self):
        for seed in range(60):
            random_ = random.Random(seed)
            name = random_.choice(machine.names())
            with self.subTest(seed=seed, name=name), tempfile.TemporaryDirectory() as root:
                machine.Machine(name).unpack(root)
                self.damage(random_, root)
                page = run("--root", root)
                self.assertIn(page.returncode, (0, 1), page.stderr)
                self.assertEqual(page.stderr, b"")
                self.assertTrue(all(line.isprintable() for line in page.stdout.decode("ascii").splitlines()))
                self.assertLessEqual(max(map(len, page.stdout.splitlines())), 100)
                json.loads(run("--root", root, "--json").stdout)

    def test_a_huge_file_is_read_in_part(self):
        with tempfile.TemporaryDirectory() as root:
            machine.Machine("server_switch").unpack(root)
            for path in ("proc/modules", "proc/cpuinfo", "proc/driver/nvidia/params"):
                os.truncate(os.path.join(root, path), 1 << 40)
            self.assertEqual(run("--root", root).returncode, 0)


class Explain(unittest.TestCase):
    def explained(self, text):
        done = run("--explain", text, "--json")
        return json.loads(done.stdout)["explanations"] if done.returncode == 0 else []

    def test_calls_codes_and_log_lines(self):
        for text, finding in (("ibv_reg_dmabuf_mr 524", "pci-topology"),
                              ("ibv_reg_dmabuf_mr: Operation not supported", "nic-no-dma-buf"),
                              ("CUDA_ERROR_NOT_SUPPORTED", "not-supported"),
                              ("cuMemCreate 2", "gpu-memory"),
                              ("cuMemAlloc_v2 2", "gpu-memory"),
                              ("NVRM: dma-buf attach failed: PCI topology not supported for dma-buf", "pci-topology-refused"),
                              ("modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument", "peermem-impossible"),
                              ("NVRM: dmaAllocMapping_GM107: can't alloc VA space for mapping.", "small-bar"),
                              ("DMAR: [DMA Write] fault addr 0: PTE Write access is not set", "iommu-translates")):
            self.assertEqual(self.explained(text)[0]["finding"], finding, text)

    def test_a_code_with_several_causes_has_them_all(self):
        found = {e["finding"] for e in self.explained("ibv_reg_mr 14")}
        self.assertEqual(found, {"not-pinnable", "peer-memory"})

    def test_what_is_not_known_is_said(self):
        done = run("--explain", "qwertyuiop")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"nothing in the text is known", done.stderr)


if __name__ == "__main__":
    unittest.main()
