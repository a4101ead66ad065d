#!/usr/bin/env python3
"""Builds drivers for a kernel that machine.py has fetched: build.py KERNEL rxe|siw=FILE.ko...

rxe is one that takes dma-bufs (rxe_patch.py), siw the kernel's own, which distributions leave out. Where the source or the
compiler cannot be had it ends with status 77 and the reason. A source that the patch does not fit is a failure: then the patch
is to be changed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import kernels
import machine
import rxe_patch
from unavailable import SKIPPED, Unavailable

FOLDER = "drivers/infiniband/sw"
CONFIG = {"rxe": "CONFIG_RDMA_RXE", "siw": "CONFIG_RDMA_SIW"}
MODULE = {"rxe": "rdma_rxe.ko", "siw": "siw.ko"}


def packages(kernel, kbuild):
    """Of source and headers, in the kernel's own version; the tools are called by the series on some kernels."""
    version = kernel.packages.split(", ")[-1].split()[1]
    flavour = kernel.release
    common = flavour.removesuffix("-amd64")
    series = ".".join(flavour.split(".")[:2])
    return [f"linux-source-{series}={version}", f"linux-headers-{flavour}={version}", f"linux-headers-{common}-common={version}",
            f"{kbuild}={version}"]


def download(kernel, choice, cache, folder):
    name, codename = kernels.distribution()
    if name != "debian":
        raise Unavailable("a kernel's source is taken apart on Debian only")
    apt = kernels.PrivateApt(cache / "apt" / choice, name, codename, kernels.suites(choice, name, codename))
    known = apt.fields(f"linux-headers-{kernel.release}")
    if known is None:
        raise Unavailable(f"{apt.suites} has no headers of {kernel.release}")
    apt.download(packages(kernel, next(name for name in known[1] if name.startswith("linux-kbuild-"))), folder)


def unpack(drivers, folder):
    """The headers, and the folder of the source with the drivers' own."""
    for archive in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", archive, folder / ("source" if "source" in archive.name else "headers")], check=True)
    tarball = next((folder / "source/usr/src").glob("*.tar.xz"))
    subprocess.run(["tar", "-C", folder, "--strip-components=4", "--wildcards", "-xJf", tarball, *(f"*/{FOLDER}/{driver}" for driver in drivers)], check=True)
    return folder / "headers/usr/src", folder


def make(kernel, headers, driver):
    own = headers / f"linux-headers-{kernel.release}"
    common = headers / f"linux-headers-{kernel.release.removesuffix('-amd64')}-common"
    # The packaged one names /usr/src.
    (own / "Makefile").write_text(f"KBUILD_OUTPUT={own}\ninclude {common}/Makefile\n", encoding="utf-8")
    subprocess.run(["make", "-s", "-C", own, f"M={driver}", f"{CONFIG[driver.name]}=m", "CONFIG_DEBUG_INFO_BTF_MODULES=", f"-j{os.cpu_count()}", "modules"],
                   check=True, stdin=subprocess.DEVNULL)
    module = driver / MODULE[driver.name]
    subprocess.run(["strip", "--strip-debug", module], check=True)
    return module


def build(choice, targets, cache):
    """`targets` are the files by the driver's name."""
    kernel = kernels.required(choice, cache)
    wanted = {name: f"{kernel.packages}\n" + (pathlib.Path(rxe_patch.__file__).read_text(encoding="utf-8") if name == "rxe" else "") for name in targets}
    made_for = {name: target.with_suffix(".release") for name, target in targets.items()}
    missing = [name for name, target in targets.items()
               if not (target.exists() and made_for[name].exists() and made_for[name].read_text(encoding="utf-8") == wanted[name])]
    if not missing:
        print(f"{', '.join(map(str, targets.values()))}: those of {kernel.release}")
        return
    for tool in ("make", "gcc", "bc", "xz", "strip"):
        if not shutil.which(tool):
            raise Unavailable(f"there is no {tool}")
    with tempfile.TemporaryDirectory(dir=cache) as place:
        folder = pathlib.Path(place)
        download(kernel, choice, cache, folder)
        headers, drivers = unpack(missing, folder)
        for name in missing:
            targets[name].parent.mkdir(parents=True, exist_ok=True)
            targets[name].unlink(missing_ok=True)
            if name == "rxe":
                rxe_patch.patch(drivers / name)
            shutil.copy(make(kernel, headers, drivers / name), targets[name])
            made_for[name].write_text(wanted[name], encoding="utf-8")
            print(f"{targets[name]} was built for {kernel.release}")


def main(words):
    try:
        build(words[0], {name: pathlib.Path(file).resolve() for name, _, file in (word.partition("=") for word in words[1:])}, machine.CACHE)
        return 0
    except Unavailable as reason:
        print(f"skipped: {reason}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
