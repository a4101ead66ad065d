#!/usr/bin/env python3
"""Builds an rxe that takes dma-bufs (patch.py) for the newest kernel that machine.py has fetched: build.py FILE.ko

Where the source or the compiler cannot be had it ends with status 77 and the reason. A source that the patch does not fit is a
failure: then the patch is to be changed.
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
import patch
from unavailable import SKIPPED, Unavailable

RXE = "drivers/infiniband/sw/rxe"


def packages(kernel):
    """Of source and headers, in the kernel's own version."""
    version = kernel.packages.split(", ")[-1].split()[1]
    flavour = kernel.release
    common = flavour.removesuffix("-amd64")
    series = ".".join(flavour.split(".")[:2])
    return [f"linux-source-{series}={version}", f"linux-headers-{flavour}={version}", f"linux-headers-{common}-common={version}",
            f"linux-kbuild-{common}={version}"]


def download(kernel, cache, folder):
    name, codename = kernels.distribution()
    if name != "debian":
        raise Unavailable("a kernel's source is taken apart on Debian only")
    apt = kernels.PrivateApt(cache / "apt/newest", name, codename, kernels.suites("newest", name, codename))
    apt.download(packages(kernel), folder)


def unpack(folder):
    """The headers, and the driver's folder of the source."""
    for archive in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", archive, folder / ("source" if "source" in archive.name else "headers")], check=True)
    tarball = next((folder / "source/usr/src").glob("*.tar.xz"))
    subprocess.run(["tar", "-C", folder, "--strip-components=4", "--wildcards", "-xJf", tarball, f"*/{RXE}"], check=True)
    return folder / "headers/usr/src", folder / "rxe"


def make(kernel, headers, driver):
    own = headers / f"linux-headers-{kernel.release}"
    common = headers / f"linux-headers-{kernel.release.removesuffix('-amd64')}-common"
    # The packaged one names /usr/src.
    (own / "Makefile").write_text(f"KBUILD_OUTPUT={own}\ninclude {common}/Makefile\n", encoding="utf-8")
    subprocess.run(["make", "-s", "-C", own, f"M={driver}", "CONFIG_RDMA_RXE=m", "CONFIG_DEBUG_INFO_BTF_MODULES=", f"-j{os.cpu_count()}", "modules"],
                   check=True, stdin=subprocess.DEVNULL)
    subprocess.run(["strip", "--strip-debug", driver / "rdma_rxe.ko"], check=True)
    return driver / "rdma_rxe.ko"


def build(target, cache):
    kernel = kernels.required("newest", cache)
    made_for = target.with_suffix(".release")
    wanted = f"{kernel.packages}\n{pathlib.Path(patch.__file__).read_text(encoding='utf-8')}"
    if target.exists() and made_for.exists() and made_for.read_text(encoding="utf-8") == wanted:
        print(f"{target} is that of {kernel.release}")
        return
    for tool in ("make", "gcc", "bc", "xz", "strip"):
        if not shutil.which(tool):
            raise Unavailable(f"there is no {tool}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:
        folder = pathlib.Path(name)
        download(kernel, cache, folder)
        headers, driver = unpack(folder)
        patch.patch(driver)
        shutil.copy(make(kernel, headers, driver), target)
    made_for.write_text(wanted, encoding="utf-8")
    print(f"{target} was built for {kernel.release}")


def main(words):
    try:
        build(pathlib.Path(words[0]).resolve(), machine.CACHE)
        return 0
    except Unavailable as reason:
        print(f"skipped: {reason}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
