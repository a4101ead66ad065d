#!/usr/bin/env python3
"""Sums up what tools/gpu-check left in a folder as one JSON text on standard output."""
import collections
import json
import pathlib
import re
import sys

BESIDE = (
    *("num_cpus", "cu_init_us", "first_buffer_after_cu_init_us", "first_bare_region_after_cu_init_us", "first_checksum_us"),
    *("requested_bytes", "committed_bytes", "bar1_bytes", "bar1_charged_bytes"),
)
COUNTER = re.compile(r"\w+_(us|gbps)|ratio|slice_bytes")
SKIPPED = "Skipped\n"  # what GoogleTest writes above a skipped test's reason


def text_of(folder, name):
    return (folder / name).read_text(encoding="utf-8").strip()


def suite(folder, name):
    """What a program of tests answered; a sentence where it could not be built."""
    if not (folder / f"{name}.json").exists():
        if (folder / f"{name}.log").exists():
            return f"died: {name}.log ends in the test that it died in"
        return "skipped: not built, configure.log says why"
    suites = json.loads(text_of(folder, f"{name}.json"))
    tests = [
        (f"{suite['name']}.{test['name']}", test)
        for suite in suites["testsuites"]
        for test in suite["testsuite"]
    ]
    log = text_of(folder, f"{name}.log").split(SKIPPED)[1:]
    reasons = collections.Counter(part.splitlines()[0] for part in log)
    return {
        "date": suites["timestamp"],
        "passed": sum(test["result"] == "COMPLETED" and "failures" not in test for _, test in tests),
        "failed": [name for name, test in tests if "failures" in test],
        "skipped": dict(reasons),
    }


def compilation(folder):
    if not (folder / "nvcc.log").exists():
        return "skipped: not built, configure.log says why"
    log = text_of(folder, "nvcc.log")
    if "No tests were found" in log:
        return "skipped: no cuda.h or no nvcc"
    return "passed" if "100% tests passed" in log else "failed"


def benchmark(folder, name):
    """Times in microseconds, rates in GB/s one way."""
    told = json.loads(text_of(folder, f"{name}.json"))
    rows = {
        row["name"].split("/iterations")[0]: {name: round(value, 3) for name, value in row.items() if COUNTER.fullmatch(name)}
        for row in told["benchmarks"]
    }
    return {**{name: float(value) for name, value in told["context"].items() if name in BESIDE}, "rows": rows}


def also_vulkan(folder):
    """A sentence where there is no Vulkan for the GPU, or it was not built."""
    file = folder / "cuda_vulkan.json"
    return benchmark(folder, file.stem) if file.exists() and file.stat().st_size else "skipped: no Vulkan for the GPU"


def streams(folder):
    """What the program reported of each clip and direction; a sentence where there was no program."""
    counters = ("api", "path", "moved_by", "proof", "frames", "checked", "mismatches", "frame_proof", "drops", "underruns",
                "bytes_per_second", "latency_ns")
    told = {}
    for file in sorted(folder.glob("stream_*.json")):
        report = json.loads(file.read_text(encoding="utf-8"))
        told[file.stem] = {name: report[name] for name in counters if name in report} if "error" not in report else report
    return told or "skipped: there was no program"


def python(folder):
    """The versions of what was run, how each of its tests ended, and the last line."""
    if not (folder / "python.log").exists():
        return "skipped: not run"
    lines = text_of(folder, "python.log").splitlines()
    ended = re.findall(r"^(test_\w+) \(\w+\.(\w+).*?\) \.\.\. (.*)$", "\n".join(lines), re.M)
    tests = {f"{group}.{name}": outcome for name, group, outcome in ended}
    versions = [line for line in lines if re.match(r"(numpy|torch|cupy|jax)\b", line)]
    return {"versions": versions, "tests": tests, "summary": lines[-1]} if tests else lines[-1]


def results(folder):
    return {
        "commit": text_of(folder, "commit.txt"),
        "gpu_driver_used_before": text_of(folder, "before.txt"),
        "gpu_driver_used_after": text_of(folder, "after.txt"),
        "contract": suite(folder, "contract"),
        "vulkan": suite(folder, "vulkan"),
        "abi": suite(folder, "abi"),
        "interop": suite(folder, "interop"),
        "nvcc": compilation(folder),
        "creation": benchmark(folder, "cuda_create"),
        "creation_with_cuda_core": json.loads(text_of(folder, "cuda_core.json")),
        "streaming": benchmark(folder, "cuda_stream"),
        "staging": benchmark(folder, "cuda_staged"),
        "checksum": benchmark(folder, "cuda_checksum"),
        "frame_proof": benchmark(folder, "cuda_frame_proof"),
        "also_vulkan": also_vulkan(folder),
        "python": python(folder),
        "program": streams(folder),
        "trace": text_of(folder, "replay.log").splitlines()[-1],
    }


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/gpu_results.py DIR    (what tools/gpu-check --out DIR has written)")
    json.dump(results(pathlib.Path(sys.argv[1])), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
