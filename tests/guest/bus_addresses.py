#!/usr/bin/env python3
"""bus_addresses.py PAGES: whether a drive was given the bus addresses of that many pages of another device's memory.

In the folder of results (OUT), `trace` has what the emulator told of pci_nvme_map_addr, and `bar` the range of the memory.
"""
import os
import pathlib
import re
import sys

ADDRESS = re.compile(r"pci_nvme_map_addr addr (0x[0-9a-f]+) len (\d+)")
PAGE = 4096


def main():
    out = pathlib.Path(os.environ["OUT"])
    first, last = (int(word, 16) for word in (out / "bar").read_text(encoding="utf-8").split()[:2])
    given = [(int(address, 16), int(size)) for address, size in ADDRESS.findall((out / "trace").read_text(encoding="utf-8"))]
    inside = [(address, size) for address, size in given if first <= address and address + size - 1 <= last]
    pages = {address // PAGE for address, _ in inside}
    print(f"{len(inside)} of {len(given)} addresses that the drives were given, of {len(pages)} pages, lie in {first:#x} to {last:#x}")
    return 0 if len(pages) >= int(sys.argv[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
