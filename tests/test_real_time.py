"""Tests in real time are repeated where the computer was late, and only there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from pathlib import Path
from tests import real_time
real_time.FOLDERS, real_time.LATE = [Path(__file__).parent], {late}
pytest_runtest_protocol = real_time.pytest_runtest_protocol
"""
TESTS = """
import pytest
RUNS = []

@pytest.fixture(scope="module")
def module():
    RUNS.append("module")
    yield len(RUNS)

def test_that_fails_twice(module):
    RUNS.append("test")
    assert RUNS.count("test") == 3

def test_that_fails():
    assert False

def test_that_passes(tmp_path):
    RUNS.append("passed")
    assert RUNS.count("passed") == 1
"""


@pytest.mark.real_time
@pytest.mark.parametrize(("late", "failed"), [(-1.0, 1), (1e9, 2)])
def test_a_failure_counts_where_the_computer_kept_time_or_at_the_third_time(tmp_path, late, failed):
    (tmp_path / "conftest.py").write_text(CONFTEST.format(late=late))
    (tmp_path / "test_some.py").write_text(TESTS)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(rf"{failed} failed, {3 - failed} passed", found.stdout), found.stdout
