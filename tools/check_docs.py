#!/usr/bin/env python3
"""Checks that what the documents name exists: links, paths, commands, options, identifiers.

Usage: check_docs.py [ROOT]

Looked at: README.md, CONTRIBUTING.md, CHANGELOG.md and docs/*.md.
  links         a relative link's target exists, and so does the heading behind its #
  paths         `src/os/` or `hints.def` in backticks is a file or folder of the tree; `a/<name>.cpp`
                and `a/*.cpp` match at least one
  commands      `rdmagpu NAME` has a NAME in cli/; `./NAME` is a file of the tree; also in code blocks
  options       `--opt` alone, or in a command of ours, stands in the source of a program or script
  identifiers   `rdmagpu::X`, `X::y`, `f()`, `RDMAGPU_X` and `PascalCase` stand in the code

Names of others that look like ours are listed in tools/docs_foreign_names.txt.
"""
import pathlib
import re
import sys

CODE_FOLDERS = ["include", "src", "cli", "cmake", "tests", "bench", "examples", "tools", "testkit", "python"]
CODE_FILES = ["CMakeLists.txt", "CMakePresets.json", "test", "quickstart", ".ci/run"]
TEXT_SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".def", ".txt", ".cmake", ".py", ".sh", ".in", ".json", ".map", ".cfg", ".1", ""}
GENERATED = {"build", "version.hpp", "compile_commands.json"}
OUR_COMMAND = re.compile(r"^(?:\S*/)?(rdmagpu|test|quickstart|setup|check_\w+\.py|memcheck\.py)$")
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$", re.M)
FENCE = re.compile(r"^```.*?^```[^\n]*$", re.M | re.S)


class Tree:
    """What there is to be named."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = [f for f in self.root.rglob("*") if f.relative_to(self.root).parts[0] not in (".git", "build")]
        self.names = {f.name for f in self.files} | GENERATED
        self.top = {f.name for f in self.root.iterdir()}
        code = [f for folder in CODE_FOLDERS for f in (self.root / folder).rglob("*")]
        code += [self.root / name for name in CODE_FILES]
        self.code = {f: f.read_text(encoding="utf-8", errors="replace") for f in code if f.is_file() and f.suffix in TEXT_SUFFIXES}
        everything = "\n".join(self.code.values())
        self.words = set(re.findall(r"\w+", everything))
        self.options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", everything))
        cli = "\n".join(text for f, text in self.code.items() if f.relative_to(self.root).parts[0] == "cli")
        self.commands = set(re.findall(r'add_subcommand\(\s*"(\w+)"', cli))
        foreign = pathlib.Path(__file__).parent / "docs_foreign_names.txt"
        lines = foreign.read_text(encoding="utf-8").splitlines() if foreign.exists() else []
        self.foreign = {line.split("#")[0].strip() for line in lines} - {""}

    def has_path(self, path):
        path = path.rstrip("/")
        if path.split("/")[0] in GENERATED or path.split("/")[-1] in GENERATED:
            return True
        pattern = re.sub(r"<[^>]*>", "*", path)
        if "*" in pattern:
            return any(self.root.glob(pattern))
        return (self.root / path).exists()


def anchor(heading):
    """The anchor that a forge gives a heading."""
    text = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return text.replace(" ", "-")


def documents(root):
    root = pathlib.Path(root)
    found = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [f for f in found + sorted((root / "docs").glob("*.md")) if f.exists()]


def link_faults(document, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (document.parent / path) if path else document
        if not file.exists():
            yield f"link to {target}: no such file"
        elif fragment and file.suffix == ".md":
            headings = HEADING.findall(FENCE.sub("", file.read_text(encoding="utf-8")))
            if fragment not in {anchor(h) for h in headings}:
                yield f"link to {target}: no such heading"


def command_faults(tree, words):
    """A command line of ours: its program, its subcommand, its options."""
    if words[0].startswith(("./", "tools/")) and not tree.has_path(words[0].removeprefix("./")):
        yield f"no such program: {words[0]}"
    program = OUR_COMMAND.match(words[0])
    if not program:
        return
    if program[1] == "rdmagpu" and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]) and words[1] not in tree.commands:
        yield f"no such command: rdmagpu {words[1]}"
    for word in words[1:]:
        option = re.match(r"\[?(--[a-z][\w-]*)", word)
        if option and option[1] not in tree.options:
            yield f"no such option: {option[1]} of {words[0]}"


def span_faults(tree, span):
    """What stands between a pair of backticks."""
    words = span.split()
    if not words or span in tree.foreign:
        return
    if words[0].startswith("./") or (len(words) > 1 and OUR_COMMAND.match(words[0])):
        yield from command_faults(tree, words)
        return
    if len(words) > 1:
        return
    if span.startswith("--"):
        option = re.match(r"--[a-z][\w-]*", span)
        if option and option[0] not in tree.options:
            yield f"no such option: {option[0]}"
        return
    if "/" in span:
        if span.split("/")[0] in tree.top and not tree.has_path(span):
            yield f"no such path: {span}"
        return
    if re.fullmatch(r"[\w-]+\.(hpp|cpp|h|def|py|md|map|cmake)", span):
        if span not in tree.names:
            yield f"no such file: {span}"
        return
    name = re.fullmatch(r"((?:\w+::)*~?\w+)(\(.*\))?", span)
    if name and not span.startswith("std::") and looks_like_ours(name[1], name[2]):
        for part in name[1].replace("~", "").split("::"):
            if part not in tree.words:
                yield f"no such identifier: {span}"
                return


def looks_like_ours(name, call):
    return bool(call) or "::" in name or name.startswith("RDMAGPU_") or bool(re.fullmatch(r"(?:[A-Z][a-z0-9]+){2,}\w*", name))


def block_faults(tree, block):
    for line in block.splitlines()[1:-1]:
        for command in re.split(r"\||&&|;", line.split(" #")[0]):
            words = command.strip().removeprefix("$ ").split()
            if words:
                yield from command_faults(tree, words)


def faults(root):
    tree = Tree(root)
    for document in documents(root):
        text = document.read_text(encoding="utf-8")
        found = list(link_faults(document, text))
        for block in FENCE.findall(text):
            found += block_faults(tree, block)
        for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
            found += span_faults(tree, span)
        for fault in dict.fromkeys(found):
            yield f"{document.relative_to(root)}: {fault}"


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    found = list(faults(root))
    print("\n".join(found) if found else "check_docs: everything that the documents name exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
