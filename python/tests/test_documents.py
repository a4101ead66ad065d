"""Every program of docs/python.md runs."""
import re
import subprocess
import sys

import pytest
from conftest import ROOT

PAGE = ROOT / "docs/python.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
PROGRAMS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)


def test_there_are_programs():
    assert len(PROGRAMS) >= 5 or not TEXT


@pytest.mark.parametrize("program", PROGRAMS, ids=[str(number) for number in range(len(PROGRAMS))])
def test_a_program_of_the_page_runs(program):
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    assert "False" not in ended.stdout.splitlines()
