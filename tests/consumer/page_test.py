"""Builds and runs the program on a page of docs/ as a reader would.

Usage: page_test.py PAGE FOLDER

A code block whose first line names a file, as in ```cpp capture.cpp, is that file; a block of sh is run; a block of
text is what the last one of sh prints in the end. Blocks of other kinds, without a name, are passed over.
"""
import pathlib
import re
import shutil
import subprocess
import sys


def main(page, folder):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    blocks = re.findall(r"(?ms)^```(\w+)(?: (\S+))?\n(.*?)^```$", text)
    for _, name, body in blocks:
        if name:
            (folder / name).write_text(body, encoding="utf-8")
    printed = None
    for kind, name, body in blocks:
        if kind == "sh" and not name:
            done = subprocess.run(["sh", "-euc", body], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            printed = done.stdout
            print(printed)
            if done.returncode:
                return f"{page}: ends with {done.returncode}"
        elif kind == "text" and not (printed or "").endswith(body):
            return f"{page}: does not print: {body}"
    return 0 if printed else f"{page}: has no block of sh"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
