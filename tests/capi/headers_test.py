#!/usr/bin/env python3
"""Compiles the headers of the C interface, each by itself, as strictly as compilers do, for C and for C++, for 64 and
for 32 bits.

Usage: headers_test.py INCLUDE C_COMPILER C++_COMPILER

A compiler without 32-bit headers is named, and that part is left out.
"""
import pathlib
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Werror"]
# -Wpadded: a hole in a struct would be neither read nor filled the same by all.
OF_C = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wc++-compat", "-Wpadded"]
# What every program does.
USE = """
#include <rdmagpu/rdmagpu.h>
size_t use(void);
size_t use(void) {
  rdmagpu_config config = RDMAGPU_INIT(rdmagpu_config);
  const rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  config.accepts = RDMAGPU_ACCEPTS(RDMAGPU_HANDOFF_HOST_POINTER) | RDMAGPU_ACCEPTS(RDMAGPU_HANDOFF_DMA_BUF);
  return config.struct_size + error.struct_size;
}
"""


def compile_text(include, compiler, flags, text, language):
    return subprocess.run([*compiler, *flags, f"-I{include}", "-fsyntax-only", "-x", language, "-"],
                          input=text, capture_output=True, text=True, check=False)


def main():
    include, c, cxx = pathlib.Path(sys.argv[1]).resolve(), [sys.argv[2]], [sys.argv[3]]
    headers = sorted((include / "rdmagpu").glob("*.h")) + sorted((include / "rdmagpu/c").glob("*.h"))
    texts = {str(h.relative_to(include)): f"#include <{h.relative_to(include)}>\ntypedef int not_empty;\n" for h in headers}
    texts["a program"] = USE
    small = compile_text(include, c, ["-m32", "-ffreestanding"], "#include <stdint.h>\n", "c").returncode == 0
    if not small:
        print("skipped for 32 bits: this compiler has no headers for them")
    failed = 0
    for name, text in texts.items():
        runs = {"C11": (c, ["-std=c11", *WARNINGS, *OF_C], "c"), "C++11": (cxx, ["-std=c++11", *WARNINGS], "c++"),
                "C++20": (cxx, ["-std=c++20", *WARNINGS], "c++")}
        if small:
            # i386 aligns 64-bit numbers to 4 bytes, so -Wpadded has nothing to say there that holds elsewhere.
            runs["C11, 32 bits"] = (c, ["-m32", "-ffreestanding", "-std=c11", *WARNINGS, *OF_C[:-1]], "c")
        for what, (compiler, flags, language) in runs.items():
            done = compile_text(include, compiler, flags, text, language)
            if done.returncode:
                failed += 1
                print(f"{name} as {what}:\n{done.stderr}")
    print(f"{len(texts)} texts, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
