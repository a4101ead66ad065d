#!/usr/bin/env python3
"""Checks every #include against the layers of the project, and prints each one that breaks a rule.

Usage: check_layers.py [ROOT]

The rules, from docs/design.md:
  src/         base <- os <- driver <- backend <- core <- net: a room may use those to its left;
               doctor and storage may use core and what is below, but not net; all may use include/
  src/capi     may use base; it has no logic of its own
  cli, examples, python
               use include/ and their own folder, nothing else of the project
  bench, testkit
               may also use src/driver
  include/     uses include/ and the standard library; only interop/ and peers/ may include a
               vendor's header
  tests        use anything of the project; a vendor's closed header only in tests/abi
  OS headers   in src/os, the one door to the system, and outside src/; never in include/
"""
import pathlib
import re
import sys

LADDER = ["base", "os", "driver", "backend", "core", "net"]
USES = {room: set(LADDER[: i + 1]) for i, room in enumerate(LADDER)}
USES["storage"] = {"base", "os", "driver", "backend", "core", "storage"}
USES["doctor"] = {"base", "os", "driver", "backend", "core", "doctor"}
USES["capi"] = {"base", "capi"}
BESIDE_SRC = {"cli": set(), "examples": set(), "python": set(), "bench": {"driver"}, "testkit": {"driver"}}

STANDARD = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
    climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg
    cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem
    forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch
    limits list locale map memory memory_resource mutex new numbers numeric optional ostream queue random ranges
    ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept
    stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex
    typeinfo unordered_map unordered_set utility valarray variant vector version
    assert.h ctype.h errno.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h stdalign.h stdarg.h
    stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h uchar.h wchar.h""".split()
)
OS = re.compile(
    r"^(sys|linux|asm|arpa|net|netinet)/|^(dirent|dlfcn|elf|fcntl|grp|ifaddrs|immintrin|link|malloc|netdb|poll|psapi|"
    r"pthread|pty|pwd|sched|semaphore|spawn|strings|termios|ucontext|unistd|utime|windows|winsock2|intrin|io|process)\.h$"
)
OPEN_VENDOR = re.compile(r"^(vulkan|vk_video|infiniband|rdma|directx)/|^(d3d12|dxgi\w*)\.h$")
TEST_LIBRARY = re.compile(r"^(gtest|gmock)/")
BENCH_LIBRARY = re.compile(r"^(benchmark|boost/lockfree|readerwriterqueue)/|^valgrind/(callgrind|valgrind)\.h$")
CLI_LIBRARY = re.compile(r"^(CLI|fmt|nlohmann)/|^xxhash\.h$")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".def"}
ROOTS = ["include", "src", "cli", "bench", "examples", "python", "testkit", "tests"]


def project_room(root, file, quote, name):
    """The part of the project that the included name lies in, such as "src/os" or "include"; None if it is foreign."""
    if quote == '"' and (file.parent / name).exists():
        parts = (file.parent / name).resolve().relative_to(root).parts
        return "/".join(parts[:2]) if parts[0] == "src" else parts[0]
    if name.startswith("rdmagpu/"):
        return "include"
    first = name.split("/")[0]
    if first in USES and (root / "src" / first).is_dir() and "/" in name:
        return "src/" + first
    for folder in ROOTS[2:]:
        if (root / folder / name).exists() or (name.startswith(folder + "/") and (root / name).exists()):
            return folder
    return None


def project_fault(place, room):
    """Why code in `place` (a path in parts) may not include from `room`; None if it may."""
    here = place[0]
    if here == "tests" or room == "include":
        return None
    if here == "include":
        return "a public header may include only public headers"
    if here == "src":
        if room == "src/" + place[1] or (room.startswith("src/") and room[4:] in USES.get(place[1], set())):
            return None
        return f"src/{place[1]} may not use {room}"
    if room == here or (room.startswith("src/") and room[4:] in BESIDE_SRC[here]):
        return None
    return f"{here} may not use {room}"


def foreign_fault(place, name):
    """Why code in `place` may not include the foreign header `name`; None if it may."""
    here = place[0]
    if name in STANDARD:
        return None
    if here == "include" and place[2] in ("interop", "peers"):
        return None
    if place[:2] == ("tests", "abi"):
        return None
    if OS.match(name):
        if here == "include":
            return "a public header may not include a system header"
        if here == "src" and place[1] != "os":
            return "system headers belong in src/os"
        return None
    if here == "include":
        return "a public header may include only the standard library"
    if OPEN_VENDOR.match(name):
        return None if here in ("src", "testkit", "tests", "bench") else "vendor headers belong in private code"
    if TEST_LIBRARY.match(name) and here == "tests":
        return None
    if BENCH_LIBRARY.match(name) and here in ("bench", "tests"):
        return None
    if CLI_LIBRARY.match(name) and here in ("cli", "tests"):
        return None
    return "not a header that this folder may use; tools/check_layers.py lists those"


def faults(root):
    root = pathlib.Path(root).resolve()
    for folder in ROOTS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            relative = file.relative_to(root)
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                found = INCLUDE.match(line)
                if not found:
                    continue
                quote, name = found.groups()
                room = project_room(root, file, quote, name)
                fault = project_fault(relative.parts, room) if room else foreign_fault(relative.parts, name)
                if fault:
                    yield f"{relative}:{number}: #include {quote}{name}{'>' if quote == '<' else quote}: {fault}"


def main(arguments):
    root = arguments[0] if arguments else pathlib.Path(__file__).parent.parent
    found = list(faults(root))
    print("\n".join(found) if found else "check_layers: every #include follows the layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
