#!/usr/bin/env python3
"""Compares the ABI that the headers of the C interface declare with the one that was promised, rdmagpu_c.abi.

Usage: abi_test.py INCLUDE COMPILER

Of the headers a library is made whose functions do nothing, so that libabigail sees types of C alone. With
RDMAGPU_WRITE_DOCUMENTS=1 in the environment the file is written anew: for what was added, never for what was changed
after a release.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROMISED = pathlib.Path(__file__).parent / "rdmagpu_c.abi"
DECLARATION = re.compile(r"RDMAGPU_C_API\s+([^;]*?\b(rdmagpu_\w+)\([^;]*\));")
SKIPPED = 77


def stubs(include):
    text = "#include <rdmagpu/rdmagpu.h>\n#include <rdmagpu/rdmagpu_cufile.h>\n#include <rdmagpu/rdmagpu_verbs.h>\n"
    for header in sorted((include / "rdmagpu").glob("*.h")) + sorted((include / "rdmagpu/c").glob("*.h")):
        for declaration, _ in DECLARATION.findall(header.read_text(encoding="utf-8")):
            text += f"{declaration} {{ __builtin_trap(); }}\n"
    return text


def build(include, compiler, folder):
    source, library = folder / "stubs.c", folder / "librdmagpu_c.so.0"
    source.write_text(stubs(include), encoding="utf-8")
    subprocess.run([compiler, "-std=c11", "-g", "-O0", "-shared", "-fPIC", "-w", f"-I{include}",
                    "-Wl,-soname,librdmagpu_c.so.0", "-o", library, source], check=True, cwd=folder)
    return library


def main():
    include, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    if not shutil.which("abidiff"):
        print("skipped: there is no abidiff (Debian: abigail-tools)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        library = build(include, compiler, pathlib.Path(name))
        if os.environ.get("RDMAGPU_WRITE_DOCUMENTS"):
            subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", PROMISED, library], check=True)
            PROMISED.write_text(re.sub(r" path='[^']*'", "", PROMISED.read_text(encoding="utf-8")), encoding="utf-8")
            return 0
        compared = subprocess.run(["abidiff", PROMISED, library], capture_output=True, text=True, check=False)
    print(compared.stdout + compared.stderr, end="")
    if compared.returncode:
        print("The ABI is not the one in tests/capi/rdmagpu_c.abi. What was only added is recorded with\n"
              "RDMAGPU_WRITE_DOCUMENTS=1; anything else breaks programs that were compiled before.")
    return 1 if compared.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
