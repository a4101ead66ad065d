"""What the kernel starts with: a static busybox, our init, and modules in the order in which they load."""
import gzip
import lzma
import pathlib
import shutil
import subprocess
import tempfile

from unavailable import Unavailable

BUSYBOX = "/bin/busybox"
INIT = pathlib.Path(__file__).parent / "init"
# The host's root over 9p under an overlay. The checksums are asked for by name when a link is added, and
# nothing loads a module by itself in there; where the kernel has them built in there is none of that name.
NEEDED = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
WELCOME = ["crc32_generic", "crc32c_generic"]


def insmods(kernel, module):
    """Files and parameters of a module and of what it depends on, in load order; None where the kernel has no such module."""
    command = ["modprobe", "-d", kernel.base, "-S", kernel.release, "--show-depends", *module.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None
    found = []
    for line in done.stdout.splitlines():
        how, _, file = line.strip().partition(" ")
        if how == "insmod":
            name, _, parameters = file.strip().partition(" ")
            found.append((pathlib.Path(name), parameters.strip()))
    return found


def depends(file):
    """The modules that a file names as those that it needs."""
    done = subprocess.run(["modinfo", "-F", "depends", file], capture_output=True, text=True)
    return [name for name in done.stdout.strip().split(",") if name] if done.returncode == 0 else None


def load_order(kernel, modules):
    """The files of the modules and of what they depend on, each once with its parameters, in load order.

    A module that is given as a file takes the place of the kernel's of that name, or is added to them.
    """
    files = {}
    for wanted in [*NEEDED, *WELCOME, *modules]:
        given = pathlib.Path(wanted) if "/" in wanted else None
        module = given.stem if given else wanted
        found = insmods(kernel, module)
        if found is None and given and (needed := depends(given)) is not None:
            found = [entry for name in needed for entry in insmods(kernel, name) or []] + [(given, "")]
        if found is None:
            if module in WELCOME:
                continue
            raise Unavailable(f"kernel {kernel.release} has no module {module.split()[0]}")
        for path, parameters in found:
            chosen = given if given and path.name.split(".")[0] == module else path
            files[chosen] = parameters or files.get(chosen, "")
    return files


def plain(file):
    """The module's bytes, not compressed, and its name."""
    if file.suffix == ".xz":
        return lzma.decompress(file.read_bytes()), file.stem
    if file.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", file], check=True, capture_output=True).stdout, file.stem
    return file.read_bytes(), file.name


def build(kernel, modules, target):
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        (tree / "bin").mkdir()
        (tree / "modules").mkdir()
        shutil.copy(BUSYBOX, tree / "bin/busybox")
        shutil.copy(INIT, tree / "init")
        (tree / "init").chmod(0o755)
        order = []
        for file, parameters in load_order(kernel, modules).items():
            content, module = plain(file)
            (tree / "modules" / module).write_bytes(content)
            order.append(f"{module} {parameters}".strip())
        (tree / "modules/order").write_text("".join(f"{module}\n" for module in order), encoding="utf-8")
        names = "".join(f"{path.relative_to(tree)}\n" for path in sorted(tree.rglob("*")))
        archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=tree, input=names.encode(), check=True, capture_output=True)
        target.write_bytes(gzip.compress(archive.stdout, 1))
