"""Starts the emulated machine, waits for its end and says how it ended."""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import time

from unavailable import Unavailable

STEPS = pathlib.Path(__file__).parent / "steps.sh"
BOOTS = 3


def emulator():
    """The emulator's command; RDMAGPU_GUEST_QEMU names another."""
    command = os.environ.get("RDMAGPU_GUEST_QEMU", "qemu-system-x86_64")
    if not shutil.which(command):
        raise Unavailable(f"there is no {command} (package qemu-system-x86)")
    return command


@dataclasses.dataclass
class Machine:
    """What is special of one machine."""

    cpu: str = "max"
    kernel_words: list = dataclasses.field(default_factory=list)  # of its kernel's command line
    devices: list = dataclasses.field(default_factory=list)  # arguments of the emulator
    traces: list = dataclasses.field(default_factory=list)  # events of the emulator's, to out/trace
    own_clock: bool = False  # one processor, 1 ns for each of its instructions; when it idles the next timer is due at once


def drive(name, size, folder):
    """The arguments for a drive of that name, for a device to take, with a file of zeros behind it."""
    image = folder / f"{name}.img"
    with open(image, "wb") as file:
        file.truncate(size)
    return ["-drive", f"file={image},if=none,id={name},format=raw"]


def arguments(kernel, initrd, out, machine):
    """Two CPUs on two NUMA nodes, software emulation, no network: nothing leaves the machine but through `out`."""
    acceleration = ["tcg,thread=single", "-icount", "shift=0,sleep=off"] if machine.own_clock else ["tcg,thread=multi"]
    # Two processors that take turns do not come up on Linux 6.1.
    special = " ".join(["", *(["maxcpus=1"] if machine.own_clock else []), *machine.kernel_words])
    traces = [word for event in machine.traces for word in ("-trace", event)]
    return [
        *("-M", "q35", "-accel", *acceleration, "-cpu", machine.cpu, "-smp", "2,sockets=2", "-m", "2G"),
        *("-object", "memory-backend-ram,id=memory0,size=1G", "-object", "memory-backend-ram,id=memory1,size=1G"),
        *("-numa", "node,cpus=0,memdev=memory0", "-numa", "node,cpus=1,memdev=memory1"),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"),
        *("-fsdev", "local,id=host,path=/,readonly=on,security_model=none,multidevs=remap"),
        *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
        *("-fsdev", f"local,id=out,path={out},security_model=none", "-device", "virtio-9p-pci,fsdev=out,mount_tag=out"),
        *("-kernel", kernel.image, "-initrd", str(initrd)),
        # A panic, or an oops, ends the machine at once. The rest spares what is slow or unsteady under emulation.
        *("-append", f"console=ttyS0 quiet loglevel=1 panic=-1 oops=panic nokaslr mitigations=off random.trust_cpu=on tsc=unstable steps={STEPS}{special}"),
        *(traces and [*traces, "-D", str(out / "trace")]),
        *machine.devices,
    ]


@dataclasses.dataclass
class Ending:
    how: str  # "ended" itself, "died" without an end, or "hung" until its limit
    shell: bool  # its steps were about to start
    seconds: float
    notes: list


def once(command, out, steps, limit_s):
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    out.chmod(0o777)  # for steps that run without privileges
    (out / "steps").write_text("".join(f"{step}\n" for step in steps), encoding="utf-8")
    start = time.monotonic()
    hung = False
    with open(out / "console", "wb") as console:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            hung = True
        finally:
            process.kill()
            process.wait()
    how = "hung" if hung else "ended" if (out / "end").exists() else "died"
    return Ending(how, (out / "shell").exists(), time.monotonic() - start, [])


def boot(command, out, steps, limit_s):
    """Runs the steps in a machine of that command.

    One that dies before its shell is started again: the kernel's patching of itself can race with the
    emulator, about once in two hundred boots. What happens after that is the steps' doing.
    """
    notes = []
    for attempt in range(1, BOOTS + 1):
        ending = once(command, out, steps, limit_s)
        if ending.how != "died" or ending.shell or attempt == BOOTS:
            break
        console = out.with_name(f"{out.name}-died-{attempt}.console")
        shutil.copy(out / "console", console)
        notes.append(f"boot {attempt} died before its shell, see {console}")
    ending.notes = notes
    return ending
