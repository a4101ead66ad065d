#!/usr/bin/env python3
"""Compares the functions that the headers of the C interface declare with those that its library defines.

Usage: symbols_test.py HEADERS LIBRARY

HEADERS is a folder, or one header.
"""
import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"RDMAGPU_C_API\s[^;]*?\b(rdmagpu_\w+)\(")


def declared(headers):
    return {name for header in (headers.glob("*.h") if headers.is_dir() else [headers]) for name in DECLARATION.findall(header.read_text())}


def defined(library):
    shared = ".so" in library.name
    out = subprocess.run(
        ["nm", "--defined-only", "--extern-only", *(["--dynamic"] if shared else []), library],
        check=True, capture_output=True, text=True,
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in out.splitlines() if len(line.split()) == 3}
    # A static library has the C++ behind it as well; a shared one shows nothing else.
    return names if shared else {name for name in names if name.startswith("rdmagpu_")}


def main():
    headers, library = map(pathlib.Path, sys.argv[1:])
    wanted, found = declared(headers), defined(library)
    for name in sorted(wanted - found):
        print(f"{name} is declared, and {library.name} has none")
    for name in sorted(found - wanted):
        print(f"{library.name} has {name}, which no header declares")
    print(f"{len(wanted & found)} functions")
    return wanted != found or not wanted


if __name__ == "__main__":
    sys.exit(main())
