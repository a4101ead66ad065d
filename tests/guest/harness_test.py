"""What the harness says of machines that fail, with a program in the emulator's place."""
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))

sys.path.insert(1, str(pathlib.Path(__file__).parent / "drivers"))

import boot
import build
import initrd
import kernels
import machine
import rxe_patch
import results
from unavailable import SKIPPED, Unavailable

# Finds the folder of results among the emulator's arguments, as the machine would by its tag, and counts boots.
FAKE = """#!/usr/bin/env python3
import pathlib, re, sys, time
out = pathlib.Path(re.search(r"local,id=out,path=([^,]+)", " ".join(sys.argv)).group(1))
counter = pathlib.Path(__file__).with_suffix(".boots")
boots = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(boots))
def shell(): (out / "shell").touch()
def step(number, status, log=""): (out / f"{number}.log").write_text(log); (out / "statuses").open("a").write(f"{number} {status}\\n")
def end(): (out / "end").touch()
"""
KERNEL = kernels.Kernel("6.0.0", __file__, "/kernel", "linux-image-6.0.0 1")  # an image that exists


def gtest_results(**tests):
    """A GoogleTest program's results: name=outcome, of "ran", "failed", "skipped"."""
    listed = []
    for name, outcome in tests.items():
        test = {"name": name, "result": "SKIPPED" if outcome == "skipped" else "COMPLETED"}
        listed.append({**test, "failures": [{}]} if outcome == "failed" else test)
    return json.dumps({"testsuites": [{"name": "Suite", "testsuite": listed}]})


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def patch(self, target, name, value):
        patcher = mock.patch.object(target, name, value)
        self.addCleanup(patcher.stop)
        return patcher.start()


class Machine(Folder):
    """machine.py run, but for the emulator, the kernel and the ramdisk."""

    def setUp(self):
        super().setUp()
        self.qemu = self.root / "qemu"
        self.patch(machine, "check_host", lambda: None)
        self.patch(initrd, "build", lambda *_: None)
        self.patch(kernels, "required", lambda *_: KERNEL)
        environment = mock.patch.dict(os.environ, RDMAGPU_GUEST_QEMU=str(self.qemu))
        environment.start()
        self.addCleanup(environment.stop)

    def run_with(self, behaviour, *words, steps=("true",)):
        """The exit status and what was printed when the emulator does that."""
        self.qemu.write_text(FAKE + behaviour + "\n", encoding="utf-8")
        self.qemu.chmod(0o755)
        steps = [f"--step={step}" for step in steps]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = machine.main(["--cache", str(self.root), "run", "job", *words, *steps])
        return status, printed.getvalue()

    def boots(self):
        return int(self.qemu.with_suffix(".boots").read_text(encoding="utf-8"))

    def test_steps_that_succeed_pass(self):
        status, text = self.run_with("shell(); step(1, 0); step(2, 0); end()", steps=("true", "ls /"))
        self.assertEqual(status, 0)
        self.assertIn("job on 6.0.0: passed", text)
        self.assertEqual((self.root / "runs/job/steps").read_text(encoding="utf-8"), "true\nls /\n")

    def test_a_panic_in_a_step_fails_with_the_last_words_and_is_not_booted_again(self):
        status, text = self.run_with("shell(); print('Kernel panic - not syncing')")
        self.assertEqual(status, 1)
        self.assertIn("the machine died in one of its steps", text)
        self.assertIn("Kernel panic - not syncing", text)
        self.assertIn("step 1: did not end", text)
        self.assertEqual(self.boots(), 1)

    def test_what_is_special_of_a_machine_goes_to_the_emulator(self):
        words = ["--cpu=EPYC", "--kernel-word=a=b", "--drive=disk=2", "--trace=event", "--device=-device", "--device=x,drive=disk"]
        self.run_with("print(*sys.argv, sep='|'); shell(); step(1, 0); end()", *words)
        told = (self.root / "runs/job/console").read_text(encoding="utf-8").strip()
        image = self.root / "runs/job.drives/disk.img"
        self.assertIn("|-cpu|EPYC|", told)
        self.assertIn(" a=b|", told)
        self.assertIn(f"|-trace|event|-D|{self.root / 'runs/job/trace'}|", told)
        self.assertTrue(told.endswith(f"|-drive|file={image},if=none,id=disk,format=raw|-device|x,drive=disk"), told)
        self.assertEqual(image.stat().st_size, 2 << 20)

    def test_a_machine_with_a_clock_of_its_own_counts_instructions(self):
        told = []
        for words in ([], ["--own-clock"]):
            self.run_with("print(*sys.argv, sep='|'); shell(); step(1, 0); end()", *words)
            told.append((self.root / "runs/job/console").read_text(encoding="utf-8"))
        self.assertIn("|-accel|tcg,thread=multi|", told[0])
        self.assertNotIn("-icount", told[0])
        self.assertIn("|-accel|tcg,thread=single|-icount|shift=0,sleep=off|", told[1])
        self.assertEqual([" maxcpus=1" in text for text in told], [False, True])

    def test_a_check_afterwards_sees_the_results_and_can_fail(self):
        good = "shell(); step(1, 0); (out / 'left').write_text('here'); end()"
        status, text = self.run_with(good, "--check=echo it is $(cat $OUT/left)")
        self.assertEqual((status, "it is here" in text), (0, True))
        status, text = self.run_with(good, "--check=echo so it was; exit 3")
        self.assertEqual((status, "so it was" in text, "check: exit status 3" in text), (1, True, True))
        status, text = self.run_with("shell(); step(1, 1); end()", "--check=echo not run")
        self.assertEqual((status, "not run\n" in text), (1, False))

    def test_an_end_without_results_fails(self):
        status, text = self.run_with("shell(); end()")
        self.assertEqual(status, 1)
        self.assertIn("step 1: did not end", text)

    def test_results_without_an_end_fail(self):
        status, text = self.run_with("shell(); step(1, 0)")
        self.assertEqual(status, 1)
        self.assertIn("the machine died in one of its steps", text)

    def test_death_before_the_shell_is_booted_again(self):
        status, text = self.run_with("if boots < 3: sys.exit(1)\nshell(); step(1, 0); end()")
        self.assertEqual(status, 0)
        self.assertEqual(self.boots(), 3)
        self.assertIn("boot 2 died before its shell", text)
        self.assertTrue((self.root / "runs/job-died-2.console").exists())

    def test_death_before_the_shell_each_time_fails(self):
        status, text = self.run_with("print('no root'); sys.exit(1)")
        self.assertEqual(status, 1)
        self.assertEqual(self.boots(), boot.BOOTS)
        self.assertIn("the machine died before its shell", text)
        self.assertIn("no root", text)

    def test_a_hang_ends_at_the_limit_and_is_not_booted_again(self):
        for shell in ("shell()", "pass"):
            self.qemu.with_suffix(".boots").unlink(missing_ok=True)
            status, text = self.run_with(f"{shell}; time.sleep(60)", "--limit", "0.5")
            self.assertEqual(status, 1)
            self.assertIn("the machine was stopped after 0.5 s", text)
            self.assertEqual(self.boots(), 1)

    def test_results_of_an_earlier_run_do_not_count(self):
        self.run_with("shell(); step(1, 0); end()")
        status, _ = self.run_with("shell()")
        self.assertEqual(status, 1)

    def test_a_step_that_fails_is_told_with_its_output(self):
        status, text = self.run_with("shell(); step(1, 3, 'no such device'); step(2, 0); end()", steps=("a", "b"))
        self.assertEqual(status, 1)
        self.assertIn("step 1: exit status 3", text)
        self.assertIn("no such device", text)

    def test_a_skipped_test_fails_with_its_reason(self):
        log = "a_test.cpp:7: Skipped\nno huge pages\n\n"
        behaviour = f"shell(); step(1, 0, {log!r}); (out / '1.json').write_text({gtest_results(One='ran', Two='skipped')!r}); end()"
        status, text = self.run_with(behaviour)
        self.assertEqual(status, 1)
        self.assertIn("step 1: skipped Suite.Two: no huge pages", text)

    def test_a_step_that_the_kernel_cannot_do_is_skipped_with_its_reason(self):
        behaviour = "shell(); step(1, 77, 'trying\\nno namespaces\\n'); step(2, 0, ''); end()"
        status, text = self.run_with(behaviour, steps=("a", "b"))
        self.assertEqual(status, 77, text)
        self.assertRegex(text, r"(?m)^step 1: a\n  skipped: no namespaces\nstep 2: b\n  done$")
        self.assertRegex(text, r"(?m)^skipped: \S+: no namespaces$")
        status, text = self.run_with(behaviour.replace("step(2, 0", "step(2, 1"), steps=("a", "b"))
        self.assertEqual(status, 1, text)
        self.assertNotRegex(text, r"(?m)^skipped")

    def test_without_an_emulator_it_is_skipped_with_the_reason(self):
        os.environ["RDMAGPU_GUEST_QEMU"] = "/nonexistent/qemu"
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = machine.main(["--cache", str(self.root), "run", "job", "--step=true"])
        self.assertEqual(status, SKIPPED)
        self.assertEqual(printed.getvalue(), "skipped: there is no /nonexistent/qemu (package qemu-system-x86)\n")


class Results(Folder):
    def parse(self, text):
        file = self.root / "1.json"
        file.write_text(text, encoding="utf-8")
        return results.tests_of(file)

    def test_a_program_that_ran_no_test_is_at_fault(self):
        self.assertEqual(results.fault(0, self.parse(gtest_results()), ""), "ran no test")

    def test_failed_tests_are_named(self):
        fault = results.fault(1, self.parse(gtest_results(One="failed", Two="ran")), "")
        self.assertEqual(fault, "exit status 1, failed: Suite.One")

    def test_a_python_program_that_skipped_a_test_or_ran_none_is_at_fault(self):
        self.assertEqual(results.fault(0, None, "..s.\n---\nRan 4 tests in 1.649s\n\nOK (skipped=1)\n"), "skipped 1 of 4 tests")
        self.assertEqual(results.fault(0, None, "Ran 2 tests in 0.1s\n\nOK (skipped=2, expected failures=1)\n"), "skipped 2 of 2 tests")
        self.assertEqual(results.fault(0, None, "\nRan 0 tests in 0.000s\n\nOK\n"), "ran no test")
        self.assertEqual(results.fault(0, None, "..\n---\nRan 1 test in 0.1s\n\nOK\nand more\n"), "")

    def test_a_command_that_is_no_program_of_tests_counts_by_its_status(self):
        self.assertEqual(results.fault(0, None, ""), "")

    def test_results_that_were_cut_off_are_a_fault(self):
        (self.root / "1.json").write_text('{"testsuites": [', encoding="utf-8")
        (self.root / "statuses").write_text("1 0\n", encoding="utf-8")
        _, wrong, _ = results.judge(self.root, ["a"], boot.Ending("ended", True, 1.0, []), 10)
        self.assertEqual(wrong, ["step 1: its results cannot be read"])


class FakeApt:
    """A suite with these packages: name -> (version, dependencies)."""

    suites = "suite"

    def __init__(self, packages, complaint=""):
        self.packages, self.complaint = packages, complaint

    def update(self):
        if self.complaint:
            raise Unavailable(self.complaint)

    def fields(self, package):
        return self.packages.get(package)


class Kernels(Folder):
    def setUp(self):
        super().setUp()
        self.os_release = self.root / "os-release"
        self.os_release.write_text('ID=debian\nVERSION_CODENAME=bookworm\nNAME="Debian GNU/Linux"\n', encoding="utf-8")

    def fetch_from(self, apt):
        self.patch(kernels, "PrivateApt", lambda *_: apt)
        return kernels.fetch("newest", self.root, self.os_release)

    def test_the_suites_are_those_of_the_distribution(self):
        self.assertEqual(kernels.suites("stable", "debian", "trixie"), ["trixie"])
        self.assertEqual(kernels.suites("newest", "debian", "trixie"), ["trixie-backports"])
        self.assertEqual(kernels.suites("p2pdma", "debian", "bookworm"), ["trixie-backports"])
        self.assertEqual(kernels.suites("p2pdma", "debian", "trixie"), ["trixie-backports"])
        for choice in kernels.CHOICES:
            self.assertEqual(kernels.suites(choice, "ubuntu", "noble"), ["noble", "noble-updates"])

    def test_another_distribution_is_named(self):
        self.os_release.write_text("ID=fedora\nVERSION_CODENAME=\n", encoding="utf-8")
        with self.assertRaisesRegex(Unavailable, "fedora"):
            kernels.distribution(self.os_release)

    def test_a_kernel_may_be_one_package_or_several(self):
        whole = {"meta": ("7", ["linux-image-6.1-amd64"]), "linux-image-6.1-amd64": ("7", ["kmod", "linux-base"])}
        self.assertEqual(kernels.parts(FakeApt(whole), "meta"), {"linux-image-6.1-amd64": "7"})
        split = {
            "meta": ("8", ["linux-image-7.3-amd64", "linux-firmware"]),
            "linux-image-7.3-amd64": ("8", ["linux-binary-7.3-amd64", "linux-modules-7.3-amd64"]),
            "linux-binary-7.3-amd64": ("8", ["linux-base-7.3-amd64"]),
            "linux-modules-7.3-amd64": ("8", []),
            "linux-base-7.3-amd64": ("8", []),
        }
        self.assertEqual(set(kernels.parts(FakeApt(split), "meta")), set(split) - {"meta"})

    def test_a_suite_without_a_kernel_is_named(self):
        with self.assertRaisesRegex(Unavailable, "suite has no package linux-image-amd64"):
            self.fetch_from(FakeApt({}))
        with self.assertRaisesRegex(Unavailable, "no newest kernel: suite has no package"):
            kernels.required("newest", self.root)

    def test_without_a_network_an_earlier_download_is_used_and_told(self):
        (self.root / "newest").mkdir()
        (self.root / "newest/kernel.json").write_text(json.dumps(vars(KERNEL)), encoding="utf-8")
        kernel, note = self.fetch_from(FakeApt({}, "no network"))
        self.assertEqual(kernel, KERNEL)
        self.assertEqual(note, "an earlier download: no network")

    def test_without_a_network_and_a_download_the_reason_is_kept(self):
        with self.assertRaisesRegex(Unavailable, "no network"):
            self.fetch_from(FakeApt({}, "no network"))
        with self.assertRaisesRegex(Unavailable, "no newest kernel: no network"):
            kernels.required("newest", self.root)

    def test_a_kernel_that_is_ready_is_not_downloaded_again(self):
        (self.root / "newest").mkdir()
        (self.root / "newest/kernel.json").write_text(json.dumps(vars(KERNEL)), encoding="utf-8")
        suite = {"linux-image-amd64": ("1", ["linux-image-6.0.0"]), "linux-image-6.0.0": ("1", [])}
        self.assertEqual(self.fetch_from(FakeApt(suite)), (KERNEL, ""))

    def test_a_kernel_that_two_choices_have_is_downloaded_once(self):
        kernels.keep(KERNEL, self.root / "stable")
        suite = {"linux-image-amd64": ("1", ["linux-image-6.0.0"]), "linux-image-6.0.0": ("1", [])}
        self.assertEqual(self.fetch_from(FakeApt(suite)), (KERNEL, ""))
        self.assertEqual(kernels.required("newest", self.root), KERNEL)

    def test_a_kernel_whose_files_are_gone_is_not_ready(self):
        (self.root / "newest").mkdir()
        gone = {**vars(KERNEL), "image": str(self.root / "vmlinuz")}
        (self.root / "newest/kernel.json").write_text(json.dumps(gone), encoding="utf-8")
        self.assertIsNone(kernels.ready("newest", self.root))

    def test_a_kernel_that_was_never_fetched_is_told(self):
        with self.assertRaisesRegex(Unavailable, "no stable kernel: it was not fetched"):
            kernels.required("stable", self.root)

    def test_a_command_that_fails_is_told_by_its_first_complaint(self):
        with self.assertRaisesRegex(Unavailable, "it cannot be: E: one$"):
            kernels.call(["sh", "-c", "echo E: one >&2; echo two >&2; exit 100"], "it cannot be")
        with self.assertRaisesRegex(Unavailable, "there is no /nonexistent"):
            kernels.call(["/nonexistent"], "it cannot be")


class Rxe(Folder):
    def test_a_source_that_has_changed_is_a_failure_and_no_skip(self):
        for name in ("rxe_loc.h", "rxe_mr.c", "rxe_verbs.c", "rxe.c"):
            (self.root / name).write_text("int something_else(void);\n", encoding="utf-8")
        with self.assertRaisesRegex(rxe_patch.Changed, "rxe_mr_init_user"):
            rxe_patch.patch(self.root)

    def test_source_and_headers_are_of_the_kernels_own_version(self):
        kernel = kernels.Kernel("6.12.95+deb12-amd64", __file__, "/kernel", "linux-image-6.12.95+deb12-amd64 6.12.95-1~bpo12+1")
        self.assertEqual(build.packages(kernel, "linux-kbuild-6.12.95+deb12"), [
            "linux-source-6.12=6.12.95-1~bpo12+1", "linux-headers-6.12.95+deb12-amd64=6.12.95-1~bpo12+1",
            "linux-headers-6.12.95+deb12-common=6.12.95-1~bpo12+1", "linux-kbuild-6.12.95+deb12=6.12.95-1~bpo12+1"])


class Ramdisk(Folder):
    def setUp(self):
        super().setUp()
        modprobe = self.root / "modprobe"
        modprobe.write_text('#!/bin/sh\nshift 5\nname=$1\nshift\n[ "$name" != siw ] && echo "insmod /m/$name.ko.xz $*"\n', encoding="utf-8")
        modprobe.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.root}:{os.environ['PATH']}"))

    def test_a_module_that_the_kernel_lacks_is_named(self):
        with self.assertRaisesRegex(Unavailable, "kernel 6.0.0 has no module siw"):
            initrd.load_order(KERNEL, ["siw"])
        order = [file.name for file in initrd.load_order(KERNEL, ["dummy", "overlay"])]
        self.assertEqual(order[-1], "dummy.ko.xz")
        self.assertEqual(order.count("overlay.ko.xz"), 1)

    def test_a_module_that_is_given_takes_the_place_of_the_kernels(self):
        given = [str(file) for file in initrd.load_order(KERNEL, ["/built/dummy.ko"])]
        self.assertEqual(given[-1], "/built/dummy.ko")
        self.assertNotIn("/m/dummy.ko.xz", given)

    def test_a_module_that_the_kernel_lacks_is_added_behind_those_that_it_names(self):
        modinfo = self.root / "modinfo"
        modinfo.write_text('#!/bin/sh\necho ib_core,dummy\n', encoding="utf-8")
        modinfo.chmod(0o755)
        order = [str(file) for file in initrd.load_order(KERNEL, ["/built/siw.ko"])]
        self.assertEqual(order[-3:], ["/m/ib_core.ko.xz", "/m/dummy.ko.xz", "/built/siw.ko"])
        modinfo.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        with self.assertRaisesRegex(Unavailable, "has no module siw"):
            initrd.load_order(KERNEL, ["/built/siw.ko"])

    def test_a_module_gets_its_parameters(self):
        order = initrd.load_order(KERNEL, ["vivid n_devs=2 multiplanar=1,2"])
        parameters = {file.name: text for file, text in order.items()}
        self.assertEqual(parameters["vivid.ko.xz"], "n_devs=2 multiplanar=1,2")
        self.assertEqual(parameters["overlay.ko.xz"], "")
