#!/usr/bin/env python3
"""Runs the GoogleTest programs of a build under valgrind's memcheck.

Usage: memcheck.py BUILD_DIRECTORY [--jobs N]

Every program that ctest knows there runs once, without the tests whose name contains Stress, Death or
Fork: the first take too long under valgrind, which runs one thread at a time; the others leave
children whose memory is not theirs to free. A program of many tests runs in shards, so that all
processors have work until the end. Programs *vulkan_* are left to AddressSanitizer: the drivers and
layers that they load take minutes under valgrind. A leak or an invalid access fails. In an optimised build the
optimiser may read what it then ignores, and memcheck cannot know that: valgrind.supp has those.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys
import time

LEFT_OUT = "-*Stress*:*Death*:*Fork*"
VALGRIND = [
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
    "--fair-sched=yes",
    "--soname-synonyms=somalloc=nouserintercepts",  # a test's own operator new is to be called, not replaced
    f"--suppressions={pathlib.Path(__file__).parent / 'valgrind.supp'}",
]
LIMIT_S = 900
TESTS_PER_SHARD = 50


def programs(build):
    """The distinct programs of the tests that GoogleTest discovered, with their folder and environment."""
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    found = {}
    for test in json.loads(listing.stdout)["tests"]:
        command = test.get("command", [])
        if any(argument.startswith("--gtest_filter=") for argument in command) and "vulkan_" not in pathlib.Path(command[0]).name:
            properties = {p["name"]: p["value"] for p in test["properties"]}
            environment = dict(setting.split("=", 1) for setting in properties.get("ENVIRONMENT", []))
            found[command[0]] = (properties.get("WORKING_DIRECTORY", build), environment)
    return sorted((program, *where) for program, where in found.items())


def names(listing):
    """The full names in what --gtest_list_tests prints."""
    suite = ""
    for line in listing.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            yield suite + name.strip()
        elif name.endswith("."):
            suite = name


def shards(program, directory, environment):
    """The tests of a program in parts: each its number, of how many, and the names."""
    listing = subprocess.run([program, f"--gtest_filter={LEFT_OUT}", "--gtest_list_tests"], check=True, cwd=directory,
                             env={**os.environ, **environment}, capture_output=True, text=True)
    tests = list(names(listing.stdout))
    count = max(1, math.ceil(len(tests) / TESTS_PER_SHARD))
    return [(index + 1, count, tests[index::count]) for index in range(count)]


def check(program, directory, environment, shard):
    # Not by GTEST_SHARD_INDEX: a test that starts its own program again would hand it on.
    start = time.monotonic()
    command = VALGRIND + [program, f"--gtest_filter={':'.join(shard[2])}", "--gtest_brief=1"]
    try:
        done = subprocess.run(command, cwd=directory, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, errors="replace")
        output, failed = done.stdout, done.returncode != 0
    except subprocess.TimeoutExpired as late:
        output, failed = f"{late.stdout or ''}\nno end after {LIMIT_S} s", True
    return failed, time.monotonic() - start, output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    tests = programs(options.build)
    if not tests:
        print(f"memcheck: ctest knows no GoogleTest program in {options.build}", file=sys.stderr)
        return 1
    failed_programs = set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        parts = [(*test, shard) for test in tests for shard in shards(*test)]
        parts.sort(key=lambda part: -part[3][1])  # the largest programs first
        running = {pool.submit(check, *part): part for part in parts}
        for done in concurrent.futures.as_completed(running):
            failed, seconds, output = done.result()
            program, _, _, (index, count, _) = running[done]
            name = os.path.relpath(program, options.build) + (f", {index} of {count}" if count > 1 else "")
            print(f"{'FAILED' if failed else 'ok':6} {seconds:6.1f} s  {name}", flush=True)
            if failed:
                failed_programs.add(program)
                print(output, flush=True)
    print(f"memcheck: {len(tests) - len(failed_programs)} of {len(tests)} programs are clean; left out: {LEFT_OUT[1:]}")
    return 1 if failed_programs else 0


if __name__ == "__main__":
    sys.exit(main())
