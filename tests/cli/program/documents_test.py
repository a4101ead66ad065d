"""Help, completion, man page and docs/cli.md say the same."""

import os
import re
import shutil
import subprocess
import unittest

from support import SOURCE, TIMEOUT, Y4M_FRAME, ProgramTest, frames, run, y4m

COMMANDS = ["list", "doctor", "alloc", "stream", "verify"]
BASH = os.path.join(SOURCE, "cli", "completion", "rdmagpu.bash")
FISH = os.path.join(SOURCE, "cli", "completion", "rdmagpu.fish")
ZSH = os.path.join(SOURCE, "cli", "completion", "_rdmagpu")
MAN = os.path.join(SOURCE, "docs", "man", "rdmagpu.1")
DOCUMENT = os.path.join(SOURCE, "docs", "cli.md")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def options(*command):
    return set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", run(*command, "--help").out))


def bash_answers(words):
    """What the completion offers behind these words."""
    script = f'source {BASH}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rdmagpu 2>/dev/null; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script, "bash", "rdmagpu", *words], stdout=subprocess.PIPE, timeout=TIMEOUT,
                          check=True)
    return set(done.stdout.decode().split())


class Completion(ProgramTest):
    def test_bash_offers_every_option(self):
        for command in COMMANDS:
            self.assertEqual(bash_answers([command, "--"]), options(command), command)
        self.assertEqual(bash_answers(["--"]), options())
        self.assertEqual(bash_answers([""]), options() | set(COMMANDS))

    def test_bash_offers_values_that_the_program_takes(self):
        clip = self.file("clip.raw", bytes(4096))
        for option in ("--lock", "--huge-pages", "--pin-gpu", "--cuda-memory", "--api"):
            for value in bash_answers(["alloc", option, ""]):
                self.assertNotEqual(run("alloc", "--slots", 1, "--bytes", 1, option, value).code, 2, (option, value))
        for value in bash_answers(["alloc", "--pcie-mapping", ""]):
            self.assertNotEqual(run("alloc", "--export", "--pcie-mapping", value).code, 2, value)
        needs = {"--pix": ["--size", "2x2"], "--size": ["--pix", "gray"]}
        for option in ("--mode", "--check", "--peer", "--rate", "--pix", "--size"):
            values = bash_answers(["stream", option, ""])
            self.assertTrue(values, option)
            for value in values:
                outcome = run("stream", clip, "--frames", 1, option, value, *needs.get(option, []))
                self.assertNotEqual(outcome.code, 2, (option, value, outcome.err))

    def test_bash_offers_all_pixel_formats_and_apis(self):
        said = run("stream", "x", "--pix", "?").err.splitlines()[0]
        for name in bash_answers(["stream", "--pix", ""]):
            self.assertIn(name, said)
        self.assertEqual(len(bash_answers(["stream", "--pix", ""])), said.count(",") + 1)
        said = run("alloc", "--api", "?").err.splitlines()[0]
        self.assertEqual(len(bash_answers(["alloc", "--api", ""])), said.count(",") + 1)

    def test_zsh_has_every_option_of_each_command(self):
        script = text(ZSH)
        shared = set(re.findall(r"'(--[a-z-]+)[\[=]", script[script.index("slots=("):script.index("_arguments -C")]))
        for command in COMMANDS:
            part = re.search(rf"(?s)\n    {command}\)\n(.*?)\n      ;;", script).group(1)
            found = set(re.findall(r"'(--[a-z-]+)[\[=]", part)) | ({"--help"} if "--help" in part else set())
            found |= shared if "$slots" in part else set()
            self.assertEqual(found, options(command), command)

    def test_fish_has_every_option_of_each_command(self):
        script = text(FISH)
        conditions = dict(re.findall(r"(?m)^set -l (\w+) '__fish_seen_subcommand_from ([\w ]+)'$", script))
        conditions["__rdmagpu_needs_command"] = ""
        found = {command: set() for command in ["", *COMMANDS]}
        for line in re.findall(r"(?m)^complete -c rdmagpu .*$", script):
            option = re.search(r" -l ([a-z-]+)", line)
            if not option:
                continue
            condition = re.search(r" -n (?:'__fish_seen_subcommand_from ([\w ]+)'|\$?(\w+))", line)
            where = list(found)
            if condition:
                where = (condition.group(1) or conditions[condition.group(2)]).split() or [""]
            for command in where:
                found[command].add("--" + option.group(1))
        for command, said in found.items():
            self.assertEqual(said, options(*command.split()), command)

    def test_fish_offers_them(self):
        if not shutil.which("fish"):
            self.skipTest("no fish here")
        for words, offered in (("rdmagpu ", "alloc"), ("rdmagpu stream --pi", "--pix"), ("rdmagpu alloc --lock ", "require")):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {FISH}; complete -C '{words}'"],
                                  stdout=subprocess.PIPE, timeout=TIMEOUT, check=True)
            self.assertIn(offered, done.stdout.decode().split(), words)

    def test_zsh_can_read_it(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh here")
        subprocess.run(["zsh", "-n", ZSH], check=True, timeout=TIMEOUT)


class TestkitManPage(unittest.TestCase):
    def test_has_every_option_and_command_of_the_program_and_no_other(self):
        page = text(os.path.join(SOURCE, "docs", "man", "rdmagpu-testkit.1")).replace("\\-", "-")
        usage = text(os.path.join(SOURCE, "testkit", "program", "main.cpp"))
        ours = page.replace("rdmagpu verify --api cuda", "")
        self.assertEqual(set(re.findall(r"--[a-z]+(?:-[a-z]+)*", ours)), set(re.findall(r"--[a-z]+(?:-[a-z]+)*", usage)))
        for command in re.findall(r"(?m)^  ([a-z]+)   ", usage):
            self.assertRegex(page, rf'(?m)^\.BR? "?{command}\b')


class ManPage(ProgramTest):
    def test_has_every_option_and_no_other(self):
        page = text(MAN).replace("\\-", "-")
        found = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", page))
        said = options().union(*(options(command) for command in COMMANDS))
        self.assertEqual(found, said)

    def test_has_every_command(self):
        for command in COMMANDS:
            self.assertIn(f".SS {command}\n", text(MAN))

    def test_man_has_no_complaint(self):
        if not shutil.which("man"):
            self.skipTest("no man here")
        done = subprocess.run(["man", "--warnings", "-l", MAN], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT, env={**os.environ, "LC_ALL": "C.UTF-8", "MANPAGER": "cat"})
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))


def keys(value):
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set()


class Document(ProgramTest):
    def test_has_every_json_key(self):
        clip = self.file("clip.y4m", y4m(frames(5, Y4M_FRAME)))
        said = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`\n]+)`", text(DOCUMENT)))))
        for arguments in (["list"], ["doctor"], ["doctor", "--explain", "ibv_reg_mr 14"], ["alloc", "--slots", 1, "--bytes", 1, "--export"], ["alloc", "--api", "hip"],
                          ["verify", "--slots", 1, "--bytes", 1], ["verify", "--peer", "verbs:x"],
                          ["stream", clip], ["stream", clip, "--playout", "--peer", "software:tear@1"],
                          ["stream", clip, "--staged"], ["stream", clip, "--slots", 0]):
            printed = keys(run(*arguments, "--json").json)
            self.assertTrue(printed)
            self.assertEqual(printed - said, set(), arguments)


if __name__ == "__main__":
    unittest.main()
