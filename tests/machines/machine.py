"""A machine in one text file, unpacked into a folder that stands for "/". README.md has the format."""

import os
import re
import struct

TREES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trees")
SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Machine:
    def __init__(self, name):
        self.name = name
        self.code = None
        self.findings = None
        self.pairs = []
        self.files = {}  # path -> bytes, or a str: the target of a link
        self.read(name)

    def read(self, name):
        """A base comes first; its expectations are not this machine's."""
        with open(os.path.join(TREES, name + ".txt"), encoding="utf-8") as file:
            head, _, body = file.read().partition("\n---\n")
        for line in body.splitlines():
            if line and not line.startswith("#"):
                self.entry(line)
        self.code, self.findings, self.pairs = None, None, []
        for line in head.splitlines():
            word, _, rest = line.partition(" ")
            if word == "exit":
                self.code = int(rest)
            elif word == "findings":
                self.findings = sorted(rest.split())
            elif word == "pair":
                self.pairs.append(rest)

    def entry(self, line):
        word, _, rest = line.partition(" ")
        if word == "base":
            self.read(rest)
        elif word == "-":
            self.files = {p: f for p, f in self.files.items() if p != rest and not p.startswith(rest + "/")}
        elif word == "pci":
            self.pci(rest.split())
        elif " -> " in line:
            path, _, target = line.partition(" -> ")
            self.files[path] = target
        else:
            path, _, text = line.partition(" = ")
            self.files[path] = text.replace("\\n", "\n").replace("\\t", "\t").encode() + b"\n"

    def pci(self, words):
        way, ids, kind = words[:3]
        address = way.split("/")[-1]
        folder = "/sys/devices/" + way
        vendor, device = ids.split(":")
        self.files[f"/sys/bus/pci/devices/{address}"] = f"../../../devices/{way}"
        said = {"vendor": "0x" + vendor, "device": "0x" + device, "class": "0x" + kind}
        for word in words[3:]:
            key, _, value = word.partition("=")
            if key == "bars":
                said["resource"] = "\n".join(map(bar, value.split(",")))
            elif key == "link":
                width, most = value.split("/")
                said.update(current_link_width=width, max_link_width=most, current_link_speed="32.0 GT/s PCIe")
            elif key == "node":
                said["numa_node"] = value
            elif key == "driver":
                self.files[folder + "/driver"] = "../../bus/pci/drivers/" + value
            elif key == "iommu":
                group = re.sub(r"\W", "", address)
                self.files[folder + "/iommu_group"] = f"../../kernel/iommu_groups/{group}"
                self.files[f"/sys/kernel/iommu_groups/{group}/type"] = value.encode() + b"\n"
            elif key == "acs":
                self.files[folder + "/config"] = config(0x1d if value == "redirect" else 0)
        self.files.update({f"{folder}/{name}": text.encode() + b"\n" for name, text in said.items()})

    def unpack(self, root):
        for path, content in self.files.items():
            full = root + path
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if isinstance(content, str):
                os.symlink(content, full)
            else:
                with open(full, "wb") as file:
                    file.write(content)


def bar(text):
    """A line of "resource": "256G", or "16G@0x100000000000" for one that lies there."""
    size, _, at = text.partition("@")
    size = int(size[:-1]) * SIZES[size[-1]] if size != "0" else 0
    start = int(at, 16) if at else 0x200000000000 >> 4
    return f"{start:#018x} {start + size - 1:#018x} 0x000000000014220c" if size else " ".join(["0x0000000000000000"] * 3)


def config(control):
    """Config space with an ACS capability behind another one."""
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, 0x0001 | 1 << 16 | 0x148 << 20)
    struct.pack_into("<IHH", space, 0x148, 0x000D | 1 << 16, 0x1F, control)
    return bytes(space)


def names():
    return sorted(name[:-4] for name in os.listdir(TREES) if name.endswith(".txt"))


def some():
    """Those that a test looks at which has little to do with what is in them: each n-th where RDMAGPU_TEST_EACH says n."""
    return names()[:: int(os.environ.get("RDMAGPU_TEST_EACH", "1"))]
