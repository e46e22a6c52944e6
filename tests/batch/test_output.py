"""What runs print at any level: in their rows, in order, and not on the terminal."""

import os
from textwrap import dedent

import pytest

from sofa_softctl.base.executors import worker
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.worker import LONGEST, TailFile
from tests.batch.studies import done

PRINTS = """
import ctypes
import logging
import os
import subprocess
import sys
import time

LIBRARY = ctypes.CDLL(None)
logging.basicConfig(format="logged %(message)s")


def prints(kind):
    print("python", kind)
    os.write(1, b"system call\\n")
    print("without an end", end=", ")
    LIBRARY.puts(b"of C")
    subprocess.run(["sh", "-c", "echo child; echo its error >&2"])
    print("error \\udcff", file=sys.stderr)
    logging.warning(kind)
    if kind == "hang":
        time.sleep(600.0)
    if kind == "crash":
        ctypes.string_at(0)
    if kind == "raise":
        LIBRARY.printf(b"end of C")
        raise RuntimeError("the end")
    return {"y": 1.0}
"""
PRINTED = """python {0}
system call
without an end, of C
child
its error
error \\udcff
logged {0}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # it is one of C, too
    (tmp_path / "prints.py").write_text(PRINTS)
    path = tmp_path / "study.toml"

    def write(*kinds):
        path.write_text(f'function = "prints.py:prints"\nparameters.kind.values = {list(kinds)}\n')
        return path

    return write


@pytest.mark.processes
def test_what_c_and_child_processes_print_is_in_the_row_and_not_on_the_terminal(study, capfd):
    with LocalExecutor(1) as executor:
        found = done(study("fine", "raise", "crash"), executor)
    fine, raised, crashed = found.rows.to_pylist()
    assert not fine["output"]
    assert raised["output"] == PRINTED.format("raise") + "end of C"
    assert crashed["output"] == PRINTED.format("crash")
    assert crashed["reason"] == "its process was killed by SIGSEGV"
    assert "Fatal Python error: Segmentation fault" in crashed["traceback"]
    assert "in prints\n" in crashed["traceback"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.processes
def test_a_run_that_hangs_says_where_and_what_it_printed(study):
    with LocalExecutor(1, seconds=2.0) as executor:
        (row,) = done(study("hang"), executor).rows.to_pylist()
    assert row["status"] == "TIMEOUT"
    assert row["output"] == PRINTED.format("hang")
    assert row["traceback"].startswith("Stack (most recent call first):")
    assert "in prints\n" in row["traceback"]
    assert 2.0 < row["seconds"] < 60.0 and row["started"] and ":" in row["worker"]


@pytest.mark.processes
def test_megabytes_of_output_do_not_stay_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "FILE_SIZE_MAX", 1 << 20)
    sizes = []
    shrink = TailFile.shrink

    def watched(self):
        sizes.append(size(self))
        shrink(self)

    monkeypatch.setattr(TailFile, "shrink", watched)
    text = """
        import os, time
        def f(x):
            for k in range(300_000):
                os.write(1, b"%6d\\n" % k)
            time.sleep(600.0)
    """
    (tmp_path / "f.py").write_text(dedent(text))
    (tmp_path / "f.toml").write_text('function = "f.py:f"\nparameters.x.values = [1]\n')
    with LocalExecutor(1, seconds=4.0) as executor:
        (row,) = done(tmp_path / "f.toml", executor).rows.to_pylist()
    assert max(sizes) > 1 << 20 and sizes[-1] < 1 << 20
    assert row["output"].endswith("".join(f"{k:6d}\n" for k in range(299_000, 300_000)))


def size(file):
    return os.fstat(file.fileno()).st_size


def test_a_file_keeps_the_end_of_what_is_written():
    file = TailFile()
    file.write("ä" * LONGEST + "ö" * (LONGEST - 1))
    assert file.text() == "ä" + "ö" * (LONGEST - 1)
    file.clear()
    file.write("\udcff")
    assert file.text() == "\\udcff"
