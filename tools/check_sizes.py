#!/usr/bin/env python3
"""Prints source files that have grown past one subject.

Usage: check_sizes.py [ROOT]

A file of more than 400 lines is taken apart. Tables (.def) and tests may be long.
"""
import pathlib
import sys

LIMIT = 400
FOLDERS = ["include", "src", "cli", "bench", "examples"]


def faults(root):
    for folder in FOLDERS:
        for file in sorted((pathlib.Path(root) / folder).rglob("*.[ch]*")):
            lines = len(file.read_text(encoding="utf-8").splitlines())
            if lines > LIMIT:
                yield f"{file.relative_to(root)}: {lines} lines, the limit is {LIMIT}: does it have one subject?"


def main(arguments):
    root = arguments[0] if arguments else pathlib.Path(__file__).parent.parent
    found = list(faults(root))
    print("\n".join(found) if found else f"check_sizes: no source file is longer than {LIMIT} lines")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
