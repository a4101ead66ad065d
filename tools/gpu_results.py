#!/usr/bin/env python3
"""Sums up what tools/gpu-check left in a folder as one JSON text on standard output."""
import collections
import json
import pathlib
import subprocess
import sys

SKIPPED = "Skipped\n"  # what GoogleTest writes above a skipped test's reason


def commit_of(root):
    told = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return told.stdout.strip() or "unknown"


def suite(folder, name):
    """What a program of tests answered; a sentence where it could not be built."""
    if not (folder / f"{name}.json").exists():
        return "skipped: not built, configure.log says why"
    suites = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    tests = [
        (f"{suite['name']}.{test['name']}", test)
        for suite in suites["testsuites"]
        for test in suite["testsuite"]
    ]
    log = (folder / f"{name}.log").read_text(encoding="utf-8").split(SKIPPED)[1:]
    reasons = collections.Counter(part.splitlines()[0] for part in log)
    return {
        "date": suites["timestamp"],
        "passed": sum(test["result"] == "COMPLETED" and "failures" not in test for _, test in tests),
        "failed": [name for name, test in tests if "failures" in test],
        "skipped": dict(reasons),
    }


def compilation(folder):
    log = (folder / "nvcc.log").read_text(encoding="utf-8")
    if "No tests were found" in log:
        return "skipped: no cuda.h or no nvcc"
    return "passed" if "100% tests passed" in log else "failed"


def creation(folder):
    told = json.loads((folder / "cuda_create.json").read_text(encoding="utf-8"))
    context = told["context"]
    counters = ("ours_us", "theirs_us", "ratio", "free_us", "their_free_us")
    rows = {
        row["name"].split("/iterations")[0]: {name: round(row[name], 3) for name in counters if name in row}
        for row in told["benchmarks"]
    }
    first = {name: float(context[name]) for name in ("cu_init_us", "first_buffer_after_cu_init_us") if name in context}
    return {"cpus": context["num_cpus"], **first, "rows": rows}


def results(folder, commit):
    core = json.loads((folder / "cuda_core.json").read_text(encoding="utf-8"))
    before = (folder / "before.txt").read_text(encoding="utf-8").strip()
    after = (folder / "after.txt").read_text(encoding="utf-8").strip()
    return {
        "commit": commit,
        "gpu_driver_used_before": before,
        "gpu_driver_used_after": after,
        "contract": suite(folder, "contract"),
        "abi": suite(folder, "abi"),
        "interop": suite(folder, "interop"),
        "nvcc": compilation(folder),
        "creation": creation(folder),
        "creation_with_cuda_core": core,
    }


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/gpu_results.py DIR    (what tools/gpu-check --out DIR has written)")
    root = pathlib.Path(__file__).resolve().parents[1]
    json.dump(results(pathlib.Path(sys.argv[1]), commit_of(root)), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
