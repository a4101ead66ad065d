"""A wrong command line: exit status 2, and what was wrong with which value."""

import unittest

from support import ProgramTest, run

COMMANDS = ["list", "doctor", "alloc", "stream", "verify"]


class Usage(ProgramTest):
    def test_unknown_api_names_those_that_there_are(self):
        self.assertFails(run("alloc", "--api", "foo"), 2, "rdmagpu: alloc: --api: 'foo'", "host", "cuda",
                         "vulkan-dmabuf", "hint: 'rdmagpu alloc --help'")

    def test_bad_values_are_named_with_their_rule(self):
        for arguments, texts in [
            (["alloc", "--slots", "0"], ["--slots", "'0'", "from 1 to"]),
            (["alloc", "--slots", "-1"], ["--slots"]),
            (["alloc", "--slots", "many"], ["--slots: 'many' is not a whole number"]),
            (["alloc", "--slots"], ["--slots needs a value"]),
            (["alloc", "--slots", "1", "--slots", "2"], ["--slots is given twice"]),
            (["alloc", "--slots", "5000000000"], ["--slots", "'5000000000'"]),
            (["alloc", "--bytes", "8Q"], ["--bytes", "'8Q'"]),
            (["alloc", "--lock", "maybe"], ["--lock", "'maybe'", "require"]),
            (["alloc", "--huge-pages", "2M"], ["--huge-pages", "'2M'"]),
            (["alloc", "--node", "x"], ["--node", "'x'"]),
            (["alloc", "--gpu", "zz"], ["--gpu", "'zz'", "65:00.0"]),
            (["alloc", "--peer-pci", "zz"], ["--peer-pci", "'zz'"]),
            (["doctor", "--gpu", "zz"], ["--gpu", "'zz'", "65:00.0"]),
            (["verify", "--peer", "card"], ["--peer", "'card'", "software"]),
            (["verify", "--peer", "verbs:"], ["--peer", "verbs:mlx5_0:1"]),
            (["verify", "--peer", "verbs:x:0"], ["--peer", "port from 1 on"]),
            (["verify", "--peer", "verbs:x:256"], ["--peer", "port from 1 on"]),
            (["verify", "--peer", "verbs:x:1:1"], ["--peer", "port from 1 on"]),
            (["verify", "--gid", "1"], ["--gid", "verbs:DEVICE"]),
            (["verify", "--to", "x"], ["--to", "verbs:DEVICE"]),
            (["verify", "--listen"], ["--listen", "verbs:DEVICE"]),
            (["verify", "--peer", "verbs:x", "--listen", "--to", "x"], ["do not go together"]),
            (["verify", "--peer", "verbs:x", "--to", ""], ["--to"]),
            (["verify", "--peer", "verbs:x", "--to", "x:"], ["--to", "HOST:PORT"]),
            (["verify", "--peer", "verbs:x", "--to", "x:0"], ["--to", "HOST:PORT"]),
            (["verify", "--peer", "verbs:x", "--to", "x:65536"], ["--to", "HOST:PORT"]),
            (["verify", "--peer", "verbs:x", "--to", "[::1"], ["--to", "[ADDRESS]:PORT"]),
            (["verify", "--peer", "verbs:x", "--to", "[::1]9"], ["--to", "[ADDRESS]:PORT"]),
            (["verify", "--peer", "verbs:x", "--listen=:9"], ["--listen", "HOST:PORT"]),
            (["verify", "--peer", "verbs:x", "--listen=99999999"], ["99999999", "from 1 to 65535"]),
            (["verify", "--peer", "verbs:x", "--gid", "256"], ["--gid", "256"]),
            (["verify", "--peer", "software:tear@1"], ["--peer", "only stream"]),
            (["stream", "x", "--pix", "yuv999"], ["--pix", "'yuv999'", "uyvy422"]),
            (["stream", "x", "--size", "0x10"], ["--size", "'0x10'"]),
            (["stream", "x", "--rate", "0"], ["--rate", "'0'", "input"]),
            (["stream", "x", "--mode", "lifo"], ["--mode", "'lifo'", "newest"]),
            (["stream", "x", "--check", "some"], ["--check", "'some'", "sample:N"]),
            (["stream", "x", "--frames", "0"], ["--frames", "'0'"]),
            (["stream", "x", "--loop=0"], ["--loop", "'0'"]),
            (["stream", "x", "--peer", "software:dance@1"], ["--peer", "tear"]),
            (["stream", "x", "--peer", "software:tear@x"], ["--peer", "@FRAME"]),
            (["stream"], ["INPUT is required"]),
            (["stream", "a", "b"], ["b"]),
            (["list", "--slots", "1"], ["--slots"]),
            (["list", "--jason"], ["--jason"]),
            ([], ["a command is required"]),
            (["dance"], ["dance"]),
            (["stream", "x", "--json", "--out", "-"], ["--out -", "stdout"]),
        ]:
            with self.subTest(arguments=arguments):
                outcome = run(*arguments)
                self.assertFails(outcome, 2, *texts)
                self.assertIn("--help", outcome.err)

    def test_json_says_so_too(self):
        for arguments in (["alloc", "--json", "--slots", "0"], ["alloc", "--slots", "0", "--json"]):
            outcome = run(*arguments)
            self.assertEqual(outcome.code, 2)
            error = outcome.json["error"]
            self.assertEqual(error["kind"], "Usage")
            self.assertIn("'0'", error["message"])


class Help(ProgramTest):
    def test_every_command_has_it_on_stdout(self):
        for command in COMMANDS:
            outcome = run(command, "--help")
            self.assertEqual((outcome.code, outcome.err), (0, ""))
            self.assertIn(f"Usage: rdmagpu {command}", outcome.out)
            self.assertIn("Examples:", outcome.out)

    def test_fits_a_terminal_of_80_columns(self):
        for arguments in [["--help"]] + [[command, "--help"] for command in COMMANDS]:
            for line in run(*arguments).out.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_the_program_lists_its_commands(self):
        outcome = run("--help")
        self.assertEqual(outcome.code, 0)
        for command in COMMANDS:
            self.assertRegex(outcome.out, rf"(?m)^  {command} +\w")

    def test_version(self):
        outcome = run("--version")
        self.assertEqual(outcome.code, 0)
        self.assertRegex(outcome.out, r"^rdmagpu \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
