"""The Makefile beside an environment that does not work."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT


@pytest.fixture
def clone(tmp_path):
    """The Makefile in a folder whose environment has a script, which names its Python."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    scripts = tmp_path / ".venv" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "python").symlink_to(sys.executable)
    (scripts / "softctl").write_text(f"#!{scripts / 'python'}\n")
    return tmp_path


def make(folder, target):
    """Exit status and error stream of what make would do."""
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(
        ["make", "-n", target],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_an_environment_that_was_copied_or_whose_python_is_gone_is_named(clone):
    """A copy's scripts would run the code of the clone that it was copied from."""
    copy = clone / "copy"
    (copy / ".venv").mkdir(parents=True)
    shutil.copy(clone / "Makefile", copy)
    shutil.copytree(clone / ".venv" / "bin", copy / ".venv" / "bin", symlinks=True)
    (clone / "pyproject.toml").touch()
    (copy / "pyproject.toml").touch()
    assert make(clone, ".venv/.core") == (0, "")
    status, errors = make(copy, ".venv/.core")
    assert status == 2
    assert ".venv was made in another folder, or its Python is gone. Remove it," in errors
    assert make(copy, "clean") == (0, "")
    python = clone / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(clone / "gone")
    assert make(clone, ".venv/.core")[0] == 2


def test_an_environment_with_a_long_path_is_left_alone(clone):
    """pip and uv then write a script of the shell, which names Python on its second line."""
    (clone / ".venv" / "bin" / "softctl").write_text("#!/bin/sh\n'''exec' /a/long/path\n")
    (clone / "pyproject.toml").touch()
    assert make(clone, ".venv/.core") == (0, "")
