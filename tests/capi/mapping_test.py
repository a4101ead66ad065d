#!/usr/bin/env python3
"""Compares the tables of docs/c.md with the headers: each public function of C++ has a function of C, or a reason why
not, and each function of C is in a table.

Usage: mapping_test.py ROOT
"""
import pathlib
import re
import sys

DECLARATION = re.compile(r"RDMAGPU_C_API\s[^;]*?\b(rdmagpu_\w+)\(")
CLASS = re.compile(r"\b(?:class|struct)\s+(?:RDMAGPU_API\s+)?(\w+)\s*(?:final\s*)?(?::[^;{]*)?\{")
KEYWORDS = {"bool", "void", "int", "static_assert", "defined", "alignas", "decltype", "__declspec"}


def matching(text, start):
    """Where the brace that opens at `start` closes."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("a brace is not closed")


def functions(text, owner):
    """What is declared in a text without the bodies of its functions."""
    while (flat := re.sub(r"\{[^{}]*\}", ";", text)) != text:
        text = flat
    for statement in re.split(r"[;:](?!:)(?<!::)", text):
        found = re.search(r"(?<![<\w])(\w+)\s*\(", statement)
        if not found or found[1] in KEYWORDS or found[1] == owner or found[1].startswith("m_") or "~" in statement or "operator" in statement:
            continue
        if "=" not in statement[: found.start()] and not statement.rstrip().endswith("delete"):
            yield f"{owner}::{found[1]}" if owner else found[1]


def declared(header):
    text = re.sub(r"//.*|^\s*#.*|\[\[\w+\]\]", "", header.read_text(encoding="utf-8"), flags=re.M)
    text = re.sub(r"namespace [\w:]+ \{", "", text).replace("}  //", "")
    names = set()
    while found := CLASS.search(text):
        end = matching(text, found.end() - 1)
        body = re.split(r"\b(?:private|protected):", text[found.end():end])[0]
        if found[1] != "Result":
            names |= set(functions(body, found[1]))
        text = text[: found.start()] + text[end + 1:]
    return names | set(functions(text, None))


def tables(document):
    """The names in the first and in the second column of every table."""
    ours, theirs = set(), set()
    for line in document.splitlines():
        cells = line.split("|")
        if len(cells) < 4:
            continue
        owner = None
        for name in re.findall(r"`([\w:]+)(?:\(\))?`", cells[1]):
            owner = name.rsplit("::", 1)[0] if "::" in name else owner
            ours.add(name if "::" in name or not owner else f"{owner}::{name}")
        theirs |= set(re.findall(r"\brdmagpu_\w+", cells[2]))
    return ours, theirs


def main():
    root = pathlib.Path(sys.argv[1])
    include = root / "include/rdmagpu"
    document = (root / "docs/c.md").read_text(encoding="utf-8")
    mapped, named = tables(document)
    mirrored = sorted(include.glob("*.hpp")) + [include / "peers/registrar.hpp", include / "peers/support.hpp"]
    mirrored += [root / "cmake/version.hpp.in"]
    cpp = set().union(*map(declared, mirrored))
    c = {name for header in include.rglob("*.h") for name in DECLARATION.findall(header.read_text(encoding="utf-8"))}
    faults = [f"{name} of C++ is in no table" for name in sorted(cpp - mapped)]
    faults += [f"{name} is in a table, and C++ has none" for name in sorted(mapped - cpp)]
    faults += [f"{name} of C is in no table" for name in sorted(c - named)]
    types = {name for header in include.rglob("*.h") for name in re.findall(r"\b(rdmagpu_\w+);", header.read_text(encoding="utf-8"))}
    faults += [f"{name} is in a table, and C has none" for name in sorted(named - c - types)]
    faults += [f"{path} has no counterpart and is not named" for path in
               (str(h.relative_to(include)) for h in sorted(include.rglob("*.hpp")) if h not in mirrored and "detail" not in h.parts)
               if f"rdmagpu/{path}" not in document]
    print("\n".join(faults) if faults else f"{len(cpp)} functions of C++, {len(c)} of C")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
