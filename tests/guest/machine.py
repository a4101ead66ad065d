#!/usr/bin/env python3
"""Runs commands in an emulated machine with a kernel of the distribution and this machine's root file system.

  machine.py fetch                                       download the kernels that the suites have now
  machine.py run NAME --kernel newest --step COMMAND...  boot once, run the steps in order, judge the results

What cannot be run here ends with status 77 and its reason. README.md tells more.
"""
import argparse
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import boot
import initrd
import kernels
import results
from unavailable import SKIPPED, Unavailable

CACHE = pathlib.Path(__file__).resolve().parents[2] / "build/guest"
TOOLS = {"depmod": "kmod", "modprobe": "kmod", "cpio": "cpio", initrd.BUSYBOX: "busybox-static"}
LINES_SHOWN = 120  # a panic with its stack is about 50


def check_host():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if platform.machine() != "x86_64":
        raise Unavailable("the emulated machine runs this machine's programs, and is x86-64")
    boot.emulator()
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            raise Unavailable(f"there is no {tool} (package {package})")


def fetch(options):
    failed = []
    for choice in kernels.CHOICES:
        try:
            kernel, note = kernels.fetch(choice, options.cache, options.os_release)
            print(f"{choice}: {kernel.release} ({kernel.packages})" + (f"; {note}" if note else ""))
        except Unavailable as problem:
            failed.append(f"{choice} kernel: {problem}")
    if failed:
        raise Unavailable("; ".join(failed))
    return 0


def drive_size(text):
    name, _, mib = text.partition("=")
    return name, int(mib)


def show(out, name):
    text = results.read(out, name).strip()
    if text:
        print(f"--- {out / name}, its end", *text.splitlines()[-LINES_SHOWN:], sep="\n")


def run(options):
    kernel = kernels.required(options.kernel, options.cache)
    folder = options.cache / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / options.name
    ramdisk = folder / f"{options.name}.initrd"
    initrd.build(kernel, options.module, ramdisk)
    images = folder / f"{options.name}.drives"
    images.mkdir(exist_ok=True)
    drives = [word for name, size in options.drive for word in boot.drive(name, size << 20, images)]
    machine = boot.Machine(options.cpu, options.kernel_word, [*drives, *options.device], options.trace, options.own_clock)
    command = [boot.emulator(), *boot.arguments(kernel, ramdisk, out, machine)]
    ending = boot.boot(command, out, options.step, options.limit)
    told, wrong, skipped = results.judge(out, options.step, ending, options.limit)
    if options.check and not wrong:
        done = subprocess.run(options.check, shell=True, env={**os.environ, "OUT": str(out)}, capture_output=True, text=True)
        told += (done.stdout + done.stderr).splitlines()
        wrong += [f"check: exit status {done.returncode}: {options.check}"] if done.returncode else []
    print(*told, *ending.notes, sep="\n")
    if wrong:
        show(out, "console")
        show(out, "kernel.log")
        for number in range(1, len(options.step) + 1):
            if any(line.startswith(f"step {number}:") for line in wrong):
                show(out, f"{number}.log")
        print(*wrong, sep="\n")
    outcome = "FAILED" if wrong else "passed, but for what was skipped," if skipped else "passed"
    print(f"{options.name} on {kernel.release}: {outcome} after {ending.seconds:.1f} s; results in {out}")
    if skipped and not wrong:
        print(f"skipped: {kernel.release}: {'; '.join(skipped)}")  # the line that the stage collects
    return 1 if wrong else SKIPPED if skipped else 0


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, default=CACHE, help="folder of kernels and results (build/guest)")
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch")
    fetching.add_argument("--os-release", default="/etc/os-release", help="take the kernels of the release that this file names")
    fetching.set_defaults(act=fetch)
    running = commands.add_parser("run")
    running.add_argument("name", help="of the folder of results")
    running.add_argument("--kernel", choices=kernels.CHOICES, default="newest")
    running.add_argument("--module", action="append", default=[], help="a kernel module to load besides what the machine needs, with its parameters: 'vivid n_devs=2'")
    running.add_argument("--device", action="append", default=[], help="an argument of the emulator, as --device=-device --device=nvme,...")
    running.add_argument("--cpu", default="max", help="its processor (max)")
    running.add_argument("--own-clock", action="store_true", help="count its time by the instructions it has run; for what must keep a rate")
    running.add_argument("--kernel-word", action="append", default=[], help="one more word of its kernel's command line")
    running.add_argument("--drive", action="append", default=[], type=drive_size, help="NAME=MIB: a drive for a device to name")
    running.add_argument("--trace", action="append", default=[], help="an event of the emulator's, to be written to trace in the results")
    running.add_argument("--check", help="a command for this machine's shell when all steps were good; OUT is the folder of results")
    running.add_argument("--step", action="append", required=True, help="a command for the shell in the machine")
    running.add_argument("--limit", type=float, default=300, help="seconds after which the machine is stopped (300)")
    running.set_defaults(act=run)
    options = parser.parse_args(words)
    options.cache = options.cache.resolve()
    try:
        check_host()
        return options.act(options)
    except Unavailable as reason:
        print(f"skipped: {reason}")
        return SKIPPED


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
