"""Files that appear whole."""

import subprocess
import sys

import pytest

from sofa_softctl.base.files import replace_atomically

SCRIPT = """
import os
os.umask(0o027)
from pathlib import Path
from sofa_softctl.base.files import replace_atomically
with replace_atomically(Path("whole.txt")) as name:
    name.write_text("new")
print(oct(os.stat("whole.txt").st_mode & 0o777))
"""


def test_a_file_may_be_read_by_those_who_may_read_any_new_file(tmp_path):
    """Temporary files are their maker's alone; the file is not."""
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "0o640"


def test_where_the_block_raises_the_file_is_as_it_was(tmp_path):
    path = tmp_path / "deep" / "whole.txt"
    with replace_atomically(path) as name:
        name.write_text("old")
    with pytest.raises(RuntimeError), replace_atomically(path) as name:
        name.write_text("half of the n")
        raise RuntimeError
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]
