#!/usr/bin/env python3
"""Checks what the shared library exports and which globals it can change.

Usage: check_symbols.py LIBRARY

Exported may be: what lies in namespace rdmagpu, and C functions that start with rdmagpu_. Nothing of
the standard library or of a vendor, whose copy in another library would be bound to ours.

A global in memory that can be written must be listed below with its reason; needs a library that is
not stripped.
"""
import re
import subprocess
import sys

EXPORTED = re.compile(
    r"^(?:(?:vtable|VTT|typeinfo|typeinfo name) for |(?:virtual|non-virtual) thunk to |guard variable for )?rdmagpu::"
    r"|^rdmagpu_[a-z0-9_]+$"
)

# Demangled name, as a pattern -> why it is in memory that can be written.
MUTABLE = {
    r"rdmagpu::\(anonymous namespace\)::sink(Mutex)?": "the log sink, the one setting of the process",
    r"\(anonymous namespace\)::current\(\)::one": "the same setting, for C",
    r"rdmagpu::os::\(anonymous namespace\)::mark(Mutex)?": "the page that a fork wipes, mapped once",
    r"rdmagpu::backend::cuda::\(anonymous namespace\)::driver\(\)::loaded": "CUDA's functions, loaded once, and which process began with them",
    r"rdmagpu::backend::cuda::\(anonymous namespace\)::knownGpus\(\)::known": "what each GPU is, asked once",
    r"rdmagpu::backend::cuda::\(anonymous namespace\)::reachable": "how much of each GPU's BAR1 this process has slots behind",
    r"rdmagpu::backend::cuda::\(anonymous namespace\)::management\(\)::loaded": "const, loaded once",
    r"rdmagpu::backend::vulkan::loaderMutex\(\)::mutex": "what keeps threads apart in Vulkan's loader",
    r"rdmagpu::backend::vulkan::\(anonymous namespace\)::driver\(\)::loaded": "the functions of Vulkan's loader, loaded once, and which process uses it",
    r"rdmagpu::driver::vulkan::\(anonymous namespace\)::codes": "constexpr, as CUDA's",
    r"rdmagpu::driver::cuda::\(anonymous namespace\)::codes": "constexpr; GCC 12 puts a std::array of structs with pointers here",
    r"rdmagpu::backend::all\(\)::backends": "the list of backends, constant once it is made",
    r"rdmagpu::(RdmaGpuBuffer|StagedBuffer)::(facts|applicationBuffer|companionBuffer)\(\) const::nothing": "const, with a constructor",
    r"rdmagpu::\(anonymous namespace\)::apiNames": "constexpr; GCC 12 puts a std::array of structs with pointers here",
    r"rdmagpu::os::\(anonymous namespace\)::codes": "the same",
    r"rdmagpu::net::\(anonymous namespace\)::statuses": "the same",
    r"rdmagpu::storage::\(anonymous namespace\)::library\(\)::loaded": "cuFile's functions, loaded once, and which process has opened it",
    r"rdmagpu::driver::cufile::\(anonymous namespace\)::codes": "constexpr; GCC 12 puts a std::array of structs with pointers here",
    r"rdmagpu::doctor::\(anonymous namespace\)::(agents|answers|dmaBufDrivers|errnoTexts|kinds|routes)": "the same",
    r"guard variable for .*": "the compiler's, for a static that is made once",
    r"DW\.ref\..*|completed\.\d+|__dso_handle|__TMC_END__|_edata|_end|__bss_start": "the toolchain's own",
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def export_faults(library):
    for line in run("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines():
        _, kind, name = line.split(" ", 2)
        if kind != "A" and not EXPORTED.search(name):
            yield f"exported, but neither in namespace rdmagpu nor rdmagpu_*: {name}"


def writable_sections(library):
    """Numbers of the sections that stay writable after the loader is done."""
    numbers = set()
    for line in run("readelf", "--section-headers", "--wide", library).splitlines():
        found = re.match(r"\s*\[\s*(\d+)\] (\S+)\s+\S+\s+\S+ \S+ \S+ \S+\s+([A-Za-z]*)\s", line)
        if found and "W" in found[3] and not re.match(r"\.(data\.rel\.ro|got|dynamic|(pre)?init_array|fini_array|relro)", found[2]):
            numbers.add(found[1])
    return numbers


def mutable_faults(library):
    sections = writable_sections(library)
    mangled = []
    for line in run("readelf", "--symbols", "--wide", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[3] in ("OBJECT", "TLS") and fields[6] in sections:
            mangled.append(fields[7].split("@")[0])
    if not mangled:
        return
    for name in sorted(set(run("c++filt", *mangled).splitlines())):
        if not any(re.fullmatch(pattern, name) for pattern in MUTABLE):
            yield f"a global that can be written, not listed in tools/check_symbols.py: {name}"


def faults(library):
    yield from export_faults(library)
    yield from mutable_faults(library)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found = list(faults(arguments[0]))
    print("\n".join(found) if found else "check_symbols: exports and globals are as listed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
