"""The doctor's page of HTML on every machine: well formed, by itself, and with all that the report has."""

import html.parser
import json
import os
import subprocess
import tempfile
import unittest

import machine

PROGRAM = os.environ["RDMAGPU"]
VOID = {"meta"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.attributes, self.tags = [], "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text += data


def run(*arguments):
    return subprocess.run([PROGRAM, "doctor", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


class Html(unittest.TestCase):
    def page(self, name, spoil=lambda root: None):
        with tempfile.TemporaryDirectory() as root:
            machine.Machine(name).unpack(root)
            spoil(root)
            done = run("--root", root, "--html")
            report = json.loads(run("--root", root, "--json").stdout)
        self.assertEqual(done.stderr, b"")
        page = Page(done.stdout.decode("ascii"))
        self.assertEqual(page.open, [])
        return page, report, done.returncode

    def test_each_machine(self):
        for name in machine.some():
            with self.subTest(name):
                page, report, code = self.page(name)
                self.assertEqual(code, machine.Machine(name).code)
                for finding in report["findings"]:
                    self.assertIn(f"[{finding['id']}]", page.text)
                    self.assertIn(finding["evidence"], page.text)
                self.assertEqual(page.tags.count("rect"), len(report["devices"]))
                for device in report["devices"]:
                    self.assertIn(device["id"], page.text)
                bows = [p for p in report["pairs"] if p["peer"] and p["route"] != "host"]
                self.assertEqual(page.tags.count("title"), 1 + len(bows))

    def test_nothing_is_fetched_or_run(self):
        page, _, _ = self.page("two_sockets")
        self.assertFalse({"script", "link", "img", "iframe", "object"} & set(page.tags))
        for key, value in page.attributes:
            self.assertFalse(key.startswith("on") or key == "src", key)
            self.assertTrue(key != "href" or value.startswith("#"), value)

    def test_what_files_hold_is_text_only(self):
        def spoil(root):
            with open(os.path.join(root, "proc/driver/nvidia/gpus/0000:17:00.0/information"), "wb") as file:
                file.write(b"Model: <script>alert(\"1\")</script>&\x1b[2J\xff</svg>\n")

        page, _, _ = self.page("server_switch", spoil)
        self.assertNotIn("script", page.tags)
        self.assertIn("<script>alert(\"1\")</script>&", page.text)

    def test_it_is_the_page_or_something_else(self):
        for other in (["--json"], ["--explain", "x"]):
            self.assertEqual(run("--html", *other).returncode, 2)


if __name__ == "__main__":
    unittest.main()
