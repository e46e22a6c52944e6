"""Every command of how-to/try-the-firmware.md, run in order as on the page."""

import os
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from tests.docs.pages import ROOT, blocks, run

pytest.importorskip("serial")
pytestmark = pytest.mark.processes
PAGE = "how-to/try-the-firmware"
START, CHECK, MOVE, EXPORT, LONG, PRESS, END = blocks(PAGE, "sh")


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """shell(block) -> its process; in a copy of the clone, with a board until the end."""
    if not (shutil.which("make") and shutil.which("cc")):
        pytest.skip("make or cc is not installed")
    folder = tmp_path_factory.mktemp("clone")
    (folder / "scenes").symlink_to(ROOT / "scenes")
    shutil.copytree(ROOT / "hardware", folder / "hardware", ignore=shutil.ignore_patterns("build"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SOFTCTL_BACKEND": "embedded"}

    def call(block, **options):
        return subprocess.Popen(
            ["bash", "-e", "-c", block],
            **(dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) | options),
            cwd=folder,
            env=environment,
        )

    call.folder = folder
    started = call(START, stdout=subprocess.DEVNULL)
    wait_for(lambda: (folder / "port.txt").exists() and (folder / "port.txt").read_text())
    assert started.wait(timeout=60) == 0
    yield call
    quiet = {"stdout": subprocess.DEVNULL}
    assert call(END, **quiet).wait(timeout=10) == 0


def wait_for(condition, timeout=120.0):
    end = monotonic() + timeout
    while not condition():
        assert monotonic() < end
        sleep(0.05)


def finished(process, status=0):
    said, _ = process.communicate(timeout=300)
    assert process.returncode == status, said
    return said


def test_the_board_is_what_the_page_says_and_moves_as_commanded(shell):
    said = " ".join(finished(shell(CHECK)).replace("│", " ").split())
    assert "host, firmware 1.0, at /dev/pts/" in said and "8 channels, 2 inputs" in said
    assert "The robot is in its rest pose" in finished(shell(MOVE))
    with chdir(shell.folder):
        names = run(PAGE)
        pulled_in, commanded = names["pulled_in"](), names["commanded"]()
    resolution = np.pi * names["RADIUS"] / 1900.0  # of 1 us
    assert np.all(np.abs(pulled_in - commanded) <= resolution)
    assert commanded[0] > 1.0
    finished(shell(EXPORT))
    head = (shell.folder / "commands.csv").read_text().partition("\n")[0]
    assert "bridge.robot.command.long_up [mm]" in head


def test_its_emergency_stop_ends_a_run(shell):
    if not (shell.folder / "board.toml").exists():
        finished(shell(CHECK))
    pulses = shell.folder / "pulses.txt"
    before = pulses.stat().st_size
    running = shell(LONG)
    wait_for(lambda: pulses.stat().st_size > before + 2000)  # it moves
    finished(shell(PRESS))
    assert "stopped: its emergency input was pressed" in finished(running, status=1)
