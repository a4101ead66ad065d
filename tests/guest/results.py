"""What the steps in the emulated machine left, and whether it is good.

A step is good when it ended with status 0 and, if it is a GoogleTest program or one of Python's unittest, ran
at least one test and skipped none: it is run in there for what it skips elsewhere.
"""
import collections
import json
import re

STEP_SKIPPED = 77  # of a step that the machine's kernel cannot do, which says why in its last line
SKIP_REASON = re.compile(r"^\S+:\d+: Skipped\n(.*)$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in \S+s\n\n(OK|NO TESTS RAN)(?: \(.*\bskipped=(\d+).*\))?$", re.M)
Tests = collections.namedtuple("Tests", "ran skipped failed")


def tests_of(file):
    """Names of the tests in a GoogleTest program's results; None where it left none."""
    if not file.exists():
        return None
    found = Tests([], [], [])
    for suite in json.loads(file.read_text(encoding="utf-8"))["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test.get("result") == "SKIPPED":
                found.skipped.append(name)
            elif test.get("result") == "COMPLETED":
                (found.failed if test.get("failures") else found.ran).append(name)
    return found


def statuses(out):
    file = out / "statuses"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {int(number): int(status) for number, status in (line.split() for line in lines)}


def fault(status, tests, log):
    """What is wrong with a step; "" when nothing is."""
    if status is None:
        return "did not end"
    if status != 0:
        return f"exit status {status}" + (f", failed: {' '.join(tests.failed)}" if tests and tests.failed else "")
    if tests is None:
        return fault_of_unittest(log)
    if tests.skipped:
        return f"skipped {' '.join(tests.skipped)}: {'; '.join(dict.fromkeys(SKIP_REASON.findall(log)))}"
    return "" if tests.ran else "ran no test"


def fault_of_unittest(log):
    """What is wrong with what a program of Python's unittest says at its end; "" of other logs."""
    for ran, _, skipped in UNITTEST.findall(log):
        if skipped:
            return f"skipped {skipped} of {ran} tests"
        if ran == "0":
            return "ran no test"
    return ""


def read(out, name):
    file = out / name
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def judge(out, steps, ending, limit_s):
    """Lines that tell of each step, lines that tell what is wrong, and why steps were skipped; without the middle ones all is well."""
    told, wrong, skipped = [], [], []
    if ending.how == "hung":
        wrong.append(f"the machine was stopped after {limit_s} s")
    elif ending.how == "died":
        wrong.append("the machine died " + ("in one of its steps" if ending.shell else "before its shell"))
    ended = statuses(out)
    for number, step in enumerate(steps, 1):
        try:
            tests = tests_of(out / f"{number}.json")
        except (ValueError, KeyError):
            tests = None
            wrong.append(f"step {number}: its results cannot be read")
        log = read(out, f"{number}.log")
        if ended.get(number) == STEP_SKIPPED and tests is None:
            skipped.append((log.strip().splitlines() or ["no reason"])[-1])
            told.append(f"step {number}: {step}\n  skipped: {skipped[-1]}")
            continue
        problem = fault(ended.get(number), tests, log)
        passed = f"{len(tests.ran)} tests passed" if tests else "done"
        told.append(f"step {number}: {step}\n  {problem or passed}")
        if problem:
            wrong.append(f"step {number}: {problem}")
    return told, wrong, skipped
